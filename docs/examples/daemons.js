#!/usr/bin/env node
// Asks the nearest of several daemons that answers, with node-redis 5: a line of the input is who asks.
//
//     node daemons.js host:port ... <ids
//
// A request goes to the next daemon only while it was not sent: whoever got it may have charged it. A daemon is asked
// when it has a share: before that it refuses everything.
'use strict';
const {createClient} = require('redis');
const readline = require('node:readline');
const timers = require('node:timers/promises');

// Fails after so long, whatever `promise` does then.
async function within(ms, promise) {
    const clock = new AbortController();
    promise.catch(() => {});
    try {
        return await Promise.race([promise, timers.setTimeout(ms, undefined, {signal: clock.signal}).then(() => {
            throw new Error(`no answer within ${ms} ms`);
        })]);
    } finally {
        clock.abort();
    }
}

// Whether the daemon decides: it says so of whatever key, and takes nothing.
async function hasShare(client) {
    try {
        const answer = await client.sendCommand(['PEEK', 'anybody', 'VERBOSE']);
        return !JSON.stringify(answer).includes('not_ready');
    } catch (error) {
        if (error.constructor.name === 'SimpleError' || error.constructor.name === 'ErrorReply')
            return true; // this user may not ask, or there is no limit for everybody
        throw error;
    }
}

// Daemons that have closed are noticed before anything is sent. Node says that a peer has closed after it has shut its
// own end: at the end of the turn of the loop in which it read so, or of the next one, as its version is.
async function noticeClosed() {
    for (let turn = 0; turn < 3; turn++)
        await timers.setImmediate();
}

class Daemons {
    constructor(addresses, {timeoutMs = 500, connectMs = 250, pauseMs = 1000, absent = false} = {}) {
        Object.assign(this, {timeoutMs, connectMs, pauseMs, absent});
        this.daemons = addresses.map((address) => ({address, client: null, awayUntil: 0}));
    }

    drop(daemon) {
        const client = daemon.client;
        daemon.client = null;
        daemon.awayUntil = Date.now() + this.pauseMs;
        if (client?.isOpen)
            client.destroy();
    }

    // A client that is connected to a daemon with a share. null: the daemon is away, or has none yet.
    async connect(daemon) {
        if (daemon.client?.isReady)
            return daemon.client;
        if (Date.now() < daemon.awayUntil)
            return null;
        const [, host, port] = /^(.*):(\d+)$/.exec(daemon.address);
        // By default node-redis connects again and sends again by itself.
        const socket = {host, port: Number(port), connectTimeout: this.connectMs, reconnectStrategy: false};
        const client = createClient({socket, disableOfflineQueue: true});
        client.on('error', () => {}); // what fails says so where it was asked
        daemon.client = client;
        try {
            await within(this.connectMs, client.connect());
            if (await within(this.timeoutMs, hasShare(client)))
                return client;
        } catch (error) {
            // It is away.
        }
        this.drop(daemon);
        return null;
    }

    // The answer and who gave it; null: nobody did.
    async ask(...words) {
        await noticeClosed();
        for (const daemon of this.daemons) {
            const client = await this.connect(daemon);
            if (client === null)
                continue;
            try {
                return {answer: await within(this.timeoutMs, client.sendCommand(words)), by: daemon.address};
            } catch (error) {
                this.drop(daemon);
                return null; // it may have been charged
            }
        }
        return null;
    }

    async canAccess(key) {
        const said = await this.ask('CAN_ACCESS', key);
        return {allowed: said === null ? this.absent : said.answer === 1, by: said?.by ?? 'nobody'};
    }

    close() {
        for (const daemon of this.daemons)
            this.drop(daemon);
    }
}

async function main() {
    const daemons = new Daemons(process.argv.slice(2));
    for await (const name of readline.createInterface({input: process.stdin})) {
        const {allowed, by} = await daemons.canAccess(name);
        console.log(`${name}: ${allowed ? 'go ahead' : 'not now'}, said by ${by}`);
    }
    daemons.close();
}

main();
