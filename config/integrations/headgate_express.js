/*
 * Limits an application of Express: copy this file beside it. It needs nothing but Node 18.
 *
 *     const headgate = require('./headgate_express');
 *     app.use(headgate({service: 'shop',
 *                       identify: (request) => ({api_key: request.get('x-api-key'), ip: request.ip})}));
 *
 * `identify` says who asks: dimensions of rules with their values; undefined is an absent one, and without any the
 * request passes. The path is the endpoint, as Express routes it: in small letters and without a slash at the end, or
 * as the application has it with `case sensitive routing` or `strict routing`; rules write it so. A question that the
 * daemon finds wrong (a value that is too long) gets 400. Without an answer within `timeoutMs`, or without the right to
 * ask (401, 403), the request passes, or with closed: true gets 503; console.error says so, once a minute.
 */
'use strict';

const FIELDS = ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-RateLimit-Limit', 'X-RateLimit-Remaining',
                'X-RateLimit-Reset', 'X-RateLimit-Over-Limit'];

module.exports = ({identify, service = 'default', address = 'http://127.0.0.1:7073', password, timeoutMs = 250,
                   closed = false}) => {
    const headers = {'Content-Type': 'application/json'};
    if (password)
        headers.Authorization = `Bearer ${password}`;

    // What Express takes for one path has one limit.
    function endpointOf(request) {
        const path = request.baseUrl + request.path;
        const cased = request.app.enabled('case sensitive routing') ? path : path.toLowerCase();
        return request.app.enabled('strict routing') ? cased : cased.replace(/(.)\/$/, '$1');
    }

    // The daemon's answer; undefined: there is none.
    async function ask(question) {
        try {
            const answer = await fetch(`${address}/v1/check`, {method: 'POST', headers, body: JSON.stringify(question),
                                                               signal: AbortSignal.timeout(timeoutMs)});
            await answer.arrayBuffer(); // then the connection is free for the next question
            return answer;
        } catch {
            return undefined;
        }
    }

    let silentUntil = 0;

    function complain(status) {
        if (performance.now() < silentUntil)
            return;
        silentUntil = performance.now() + 60000;
        console.error(`headgate: the daemon at ${address} ${status ? `answers ${status}` : 'gives no answer'}: ` +
                      `requests ${closed ? 'are refused with 503' : 'pass without a limit'}`);
    }

    return async (request, response, next) => {
        const said = Object.entries(identify(request)).filter(([, value]) => (value ?? '') !== '');
        if (said.length === 0)
            return next();
        const answer = await ask({service_id: service, endpoint: endpointOf(request),
                                  identifiers: Object.fromEntries(said)});
        const status = answer ? answer.status : 0;
        if (status === 400 || status === 413)
            return response.status(400).send('400 Bad Request\n');
        if (status !== 200 && status !== 429)
            complain(status);
        if (closed && status !== 200 && status !== 429)
            return response.set('Retry-After', '1').status(503).send('503 Service Unavailable\n');
        for (const field of FIELDS)
            if (answer && answer.headers.has(field))
                response.set(field, answer.headers.get(field));
        return status === 429 ? response.status(429).send('429 Too Many Requests\n') : next();
    };
};
