// What a gateway asks, by @grpc/grpc-js, with the bytes of messages as they are. Usage: gateway.js PORT
'use strict';
const assert = require('assert');
const grpc = require('@grpc/grpc-js');

const client = new grpc.Client(`127.0.0.1:${process.argv[2]}`, grpc.credentials.createInsecure());
const same = (bytes) => bytes;
const rateLimit = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

// {domain: "edge", descriptors: [{entries: [{key: "tries", value}]}]}
function asked(value) {
    const text = (field, bytes) => Buffer.concat([Buffer.from([field << 3 | 2, bytes.length]), Buffer.from(bytes)]);
    return Buffer.concat([text(1, 'edge'), text(2, text(1, Buffer.concat([text(1, 'tries'), text(2, value)])))]);
}

function ask(path, message, options) {
    return new Promise((resolve) => client.makeUnaryRequest(path, same, same, message, new grpc.Metadata(), options,
        (error, answer) => resolve(error ? error.code : answer)));
}

// The first message; then it has heard enough.
function watch() {
    const call = client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', same, same, Buffer.alloc(0));
    return new Promise((resolve, reject) => {
        call.on('data', (answer) => { resolve(answer); call.cancel(); });
        call.on('error', reject);
        call.on('end', () => reject(new Error('Watch has ended')));
    });
}

async function main() {
    const codes = [];
    for (let i = 0; i < 4; i++) // overall_code is the first field
        codes.push((await ask(rateLimit, asked('node'), {deadline: Date.now() + 10000}))[1]);
    assert.deepStrictEqual(codes, [1, 1, 1, 2]);
    const many = await Promise.all(Array.from({length: 200}, () => ask(rateLimit, asked('many'), {})));
    assert.strictEqual(many.filter((answer) => answer[1] === 1).length, 3);
    assert.deepStrictEqual([...await ask('/grpc.health.v1.Health/Check', Buffer.alloc(0), {})], [8, 1]);
    assert.deepStrictEqual([...await watch()], [8, 1]);
    assert.strictEqual(await ask('/grpc.health.v1.Health/Other', Buffer.alloc(0), {}), grpc.status.UNIMPLEMENTED);
    assert.strictEqual(await ask(rateLimit, Buffer.from([255]), {}), grpc.status.INVALID_ARGUMENT);
    client.close();
    console.log('fine');
}

main();
