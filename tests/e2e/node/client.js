// What an ordinary program does with node-redis and ioredis. Prints one line per fact; exits 1 at the first surprise.
'use strict';
const { createClient } = require('redis');
const {Redis} = require('ioredis');
const assert = require('node:assert');

async function speak(port, RESP) {
    const client = createClient({ RESP, name: 'node-test', socket: { port, host: '127.0.0.1', reconnectStrategy: false } });
    const errors = [];
    client.on('error', (error) => errors.push(error));
    await client.connect();
    assert.strictEqual(await client.ping(), 'PONG');
    const key = `node-${RESP}`;
    assert.strictEqual(await client.sendCommand(['CAN_ACCESS', key]), 1);
    const checked = await client.sendCommand(['CHECK', `user=${key}`, 'COST', '2']);
    if (RESP === 3) {
        const {reset_after_ms, ...figures} = checked;
        assert.ok(reset_after_ms > 0);
        assert.deepStrictEqual(
            figures, {allowed: true, limit: 10, remaining: 7, available_now: 7, retry_after_ms: 0, rule: 'default'});
    } else {
        const [allowed, limit, remaining, retry, , rule] = checked;
        assert.deepStrictEqual([ allowed, limit, remaining, retry, rule ], [ 1, 10, 7, 0, 'default' ]);
    }
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.sendCommand(['CAN_ACCESS', key])));
    assert.strictEqual(answers.reduce((sum, one) => sum + one, 0), 7);
    const multi = client.multi();
    for (let i = 0; i < 12; i++)
        multi.addCommand([ 'CAN_ACCESS', `${key}-multi` ]);
    assert.deepStrictEqual(await multi.exec(), [...Array(10).fill(1), 0, 0 ]);
    await assert.rejects(
        client.multi().addCommand([ 'CAN_ACCESS', `${key}-abort` ]).addCommand([ 'NONSENSE' ]).exec());
    const peeked = await client.sendCommand([ 'PEEK', `${key}-abort` ]);
    assert.strictEqual(RESP === 3 ? peeked.remaining : peeked[2], 10);
    await assert.rejects(client.sendCommand(['CAN_ACCESS', key, '-1']), /cost '-1' is out of range/);
    assert.match(await client.info('cluster'), /\r\nstate:active\r\n/);
    assert.match(await client.sendCommand(['CLIENT', 'INFO']), new RegExp(`name=node-test .*resp=${RESP} .*lib-name=node-redis`));
    const nodes = await client.sendCommand(['NODES']);
    if (RESP === 3)
        assert.strictEqual(nodes[0].node, 'here');
    else
        assert.deepStrictEqual([...nodes[0].slice(0, 2)], ['node', 'here']);
    await client.close();
    assert.deepStrictEqual(errors, []);
    console.log(`RESP${RESP} fine`);
}

async function speakIoredis(port)
{
    const client = new Redis({port, host : '127.0.0.1', retryStrategy : null});
    assert.strictEqual(await client.call('CAN_ACCESS', 'io'), 1);
    const answers = await client.pipeline([ [ 'call', 'CAN_ACCESS', 'io' ], [ 'call', 'PEEK', 'io' ] ]).exec();
    assert.deepStrictEqual([ answers[0], answers[1][1][2] ], [ [ null, 1 ], 8 ]);
    const multi = client.multi();
    for (let i = 0; i < 10; i++)
        multi.call('CAN_ACCESS', 'io');
    assert.deepStrictEqual((await multi.exec()).map(([, value ]) => value), [...Array(8).fill(1), 0, 0 ]);
    await assert.rejects(client.multi().call('CAN_ACCESS', 'io-abort').call('NONSENSE').exec(), /EXECABORT/);
    assert.strictEqual((await client.call('PEEK', 'io-abort'))[2], 10);
    await client.quit();
    console.log('ioredis fine');
}

(async () => {
    const port = Number(process.argv[2]);
    await speak(port, 2);
    await speak(port, 3);
    await speakIoredis(port);
})().catch((error) => {
    console.error(error);
    process.exit(1);
});
