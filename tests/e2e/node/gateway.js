// What a gateway asks, by @grpc/grpc-js, with the bytes of messages as they are. Usage: gateway.js PORT
'use strict';
const assert = require('assert');
const grpc = require('@grpc/grpc-js');

const client = new grpc.Client(`127.0.0.1:${process.argv[2]}`, grpc.credentials.createInsecure());
const same = (bytes) => bytes;
const rateLimit = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

const text = (field, bytes) => Buffer.concat([Buffer.from([field << 3 | 2, bytes.length]), Buffer.from(bytes)]);

// A request of the domain edge: each descriptor is [entries, hits], and entries are {key: value}.
function request(...descriptors) {
    const said = descriptors.map(([entries, hits]) => text(2, Buffer.concat([
        ...Object.entries(entries).map(([key, value]) => text(1, Buffer.concat([text(1, key), text(2, value)]))),
        hits === undefined ? Buffer.alloc(0) : text(3, [8, hits])])));
    return Buffer.concat([text(1, 'edge'), ...said]);
}
const asked = (value) => request([{tries: value}]);

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
    const code = async (...descriptors) => (await ask(rateLimit, request(...descriptors), {}))[1];
    const inTurn = async (count, ...descriptors) => {
        const told = [];
        for (let i = 0; i < count; i++) told.push(await code(...descriptors));
        return told;
    };
    assert.deepStrictEqual(await inTurn(3, [{shade: 'x'}]), [1, 1, 1], 'shadow');
    assert.deepStrictEqual(await inTurn(3, [{free: 'x'}]), [1, 1, 1], 'unlimited');
    assert.deepStrictEqual(await inTurn(2, [{source: 'a', target: 'b'}]), [1, 2], 'replaces');
    assert.deepStrictEqual(await inTurn(3, [{source: 'a', target: 'b', category: 'c'}]), [1, 1, 2], 'replaces');
    const places = ['one', 'two'].map((place) => [{place, alternative: 'true'}]);
    assert.deepStrictEqual(await inTurn(3, ...places), [1, 1, 2], 'alternatives');
    assert.deepStrictEqual(await inTurn(1, [{place: 'two'}]), [2], 'which were both charged');
    for (const expected of [1, 1, 2]) { // a cost that is known afterwards
        assert.strictEqual(await code([{account: 'acme'}, 0]), expected, 'token quota');
        await code([{account: 'acme', drain: 'true'}, 60]);
    }
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
