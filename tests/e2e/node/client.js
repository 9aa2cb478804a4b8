// What an ordinary program does with node-redis. Prints one line per fact; exits 1 at the first surprise.
'use strict';
const { createClient } = require('redis');
const assert = require('node:assert');

async function speak(port, RESP) {
    const client = createClient({ RESP, name: 'node-test', socket: { port, host: '127.0.0.1', reconnectStrategy: false } });
    const errors = [];
    client.on('error', (error) => errors.push(error));
    await client.connect();
    assert.strictEqual(await client.ping(), 'PONG');
    const key = `node-${RESP}`;
    assert.strictEqual(await client.sendCommand(['CAN_ACCESS', key]), 1);
    const [allowed, limit, remaining, retry, , rule] = await client.sendCommand(['CHECK', `user=${key}`, 'COST', '2']);
    assert.deepStrictEqual([allowed, limit, remaining, retry, rule], [1, 10, 7, 0, 'default']);
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.sendCommand(['CAN_ACCESS', key])));
    assert.strictEqual(answers.reduce((sum, one) => sum + one, 0), 7);
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

(async () => {
    const port = Number(process.argv[2]);
    await speak(port, 2);
    await speak(port, 3);
})().catch((error) => {
    console.error(error);
    process.exit(1);
});
