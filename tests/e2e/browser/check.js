// What the dashboard does, in Chromium: run by tests/e2e/dashboard.t, which has started the daemons.
//
//   node check.js URL PID_OF_DAEMON PID_OF_PEER GUARDED_URL
//
// Without words it only looks whether Chromium starts.
// Each check is a line for the test: "ok NAME" or "not ok NAME: WHY".
'use strict';
const {open, visit, live, until} = require('./browser.js');

const [url, daemonPid, peerPid, guardedUrl] = process.argv.slice(2);
const PEER = 'ap-south';

function ok(holds, name, why) {
  console.log(`${holds ? 'ok' : 'not ok'} ${name}${holds || why === undefined ? '' : ': ' + JSON.stringify(why)}`);
}

// ---- what is there ----

async function checkPage(browser) {
  const {page, asked, complaints} = await visit(browser, url);
  await live(page);
  const states = await page.$$eval('#peers tbody tr', (rows) => rows.map((row) => row.dataset.state));
  ok(states.join() === 'active,active,active', 'all peers are listed', states);
  const drawn = await page.$$eval('#map [data-peer]', (peers) => peers.map((peer) => peer.dataset.peer).sort());
  ok(drawn.join() === 'ap-south,eu-west,us-east', 'and drawn', drawn);
  ok(await page.textContent('#peers tr:first-child') !== '', 'with figures');
  ok(/^(|good)$/.test(await page.textContent('#peers tbody tr:first-child td:last-child')), 'and its clock');
  ok(await until(() => page.$eval('#requests path.refused', (path) => path.getAttribute('d').includes('L'))),
    'requests are drawn over time');
  const shows = (selector, text) => until(async () => (await page.textContent(selector)).includes(text));
  ok(await shows('#rules', 'login'), 'rules are listed');
  ok(await shows('#rules', '1/d, burst 6'), 'with what they say');
  ok(await shows('#rules [data-rule="shop/search"] .trial', 'on trial for 25% of keys'), 'and what is on trial');
  await page.click('#rules [data-rule="shop/search"] summary');
  await page.waitForSelector('#rules [data-rule="shop/search"] .history li:nth-child(2)');
  const versions = await page.$$eval('#rules [data-rule="shop/search"] .history li', (all) => all.map((one) => one.textContent));
  ok(/20\/s.*a trial of 25%.*in force.*twice as many/.test(versions[0]) && /10\/s.*in force/.test(versions[1]),
    'and its versions', versions);
  ok(await shows('#bounds', 'login of shop'), 'and bounds');
  const names = await page.$$eval('input, button, svg[role=img], [role=region]', (all) => all.filter((one) =>
    !(one.getAttribute('aria-label') || one.labels?.length || one.textContent.trim())).map((one) => one.outerHTML));
  ok(names.length === 0, 'whatever can be used or seen has a name', names);
  return {page, asked, complaints};
}

async function checkRefusedKey({page}) {
  let clicks = 0;
  const click = async (selector) => (clicks++, page.click(selector));
  await page.waitForSelector('#hot button[data-key="user=mallory"]');
  await click('#hot button[data-key="user=mallory"]');
  await page.waitForSelector('#answer svg.picture');
  const told = await page.textContent('#answer');
  ok(clicks <= 3, 'a refused key is found and explained in three clicks', clicks);
  ok(/One more request is refused now/.test(told), 'in words', told);
  ok(/of 6 tokens/.test(told), 'with its tokens', told);
  const label = await page.getAttribute('#answer svg.picture', 'aria-label');
  ok(/^spent \d.* of 6 tokens$/.test(label), 'and as a picture', label);
  ok(await page.evaluate(() => document.activeElement.id) === 'inspector', 'where the keyboard is then');
}

// The rule of this key counts few requests: the page asks for one of these, and not for any.
async function checkOddKey({page}) {
  const name = 'user=m%C3%BCnchen%20nord';
  await page.waitForSelector(`#hot button[data-key="${name}"]`);
  const shown = await page.textContent(`#hot button[data-key="${name}"]`);
  ok(shown === 'user=m\u00fcnchen nord', 'a name is shown as people write it', shown);
  await page.click(`#hot button[data-key="${name}"]`);
  await until(async () => /Rule pay/.test(await page.textContent('#answer')));
  const told = await page.textContent('#answer');
  ok(/One more request is refused now.*Rule pay/.test(told), 'a key of a rule of few requests is explained', told);
  const fields = await page.$$eval('#ask input', (inputs) => inputs.map((input) => input.value));
  ok(fields.join('|') === `bank||/v1/pay/|pro|${name} kind=card`, 'by what such a request says', fields);
  const cut = await page.$$eval('#hot li', (items) => items.filter((item) => item.textContent.includes('xxx...'))
    .map((item) => item.querySelectorAll('button').length));
  ok(cut.join() === '0', 'a name that is cut is nothing to click', cut);
}

// ---- a partition ----

// What the daemon itself knows of the peer.
async function peerState(page) {
  return page.evaluate(async (peer) => {
    const lines = (await (await fetch('metrics')).text()).split('\n');
    return lines.find((line) => line.startsWith('headgate_peer_up') && line.includes(`peer="${peer}"`)).split(' ')[1];
  }, PEER);
}

async function checkPartition({page}) {
  process.kill(peerPid, 'SIGSTOP');
  ok(await until(async () => await peerState(page) === '0'), 'the daemon hears its peer no more');
  ok(await page.waitForSelector(`#peers [data-peer=${PEER}][data-state=silent]`), 'the list shows it');
  ok(await page.waitForSelector(`#map [data-peer=${PEER}][data-state=silent]`), 'and the map');
  ok(await page.$eval('#map .cross', (cross) => cross !== null), 'by a shape, not by its colour alone');
  const news = await page.textContent('#news:not([hidden])');
  const spoken = await page.getAttribute('#news', 'aria-live') === 'polite';
  ok(spoken && news.includes(PEER), 'and words that are read out', news);
  process.kill(peerPid, 'SIGCONT');
  ok(await page.waitForSelector(`#map [data-peer=${PEER}][data-state=active]`), 'until it is back');
  ok(await until(() => page.$eval('#news', (line) => line.hidden)), 'then the words are gone');
}

async function checkLoss({page}) {
  process.kill(daemonPid, 'SIGSTOP');
  ok(await page.waitForSelector('#link[data-state=lost]'), 'a daemon that stands still is lost');
  const said = await page.textContent('#link');
  ok(/These are the figures of \d/.test(said), 'the page says how old its figures are', said);
  const opacity = await page.$eval('main', (main) => Number(getComputedStyle(main).opacity));
  ok(opacity < 1, 'and looks like it', opacity);
  process.kill(daemonPid, 'SIGCONT');
  ok(await page.waitForSelector('#link[data-state=live]'), 'and found again');
}

// The page is given an event in which bounds and peers are other than they are, one forgotten and one silent.
async function checkMade(browser, {page: other}) {
  const event = await other.evaluate(async () => {
    const reader = (await fetch('v1/live')).body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('\n\n'))
      text += (await reader.read()).value;
    await reader.cancel();
    return JSON.parse(text.slice('data: '.length, text.indexOf('\n\n')));
  });
  event.bounds = [[0, 0], [0, 2], [0, 6], [20, 27], [20, 28]].map(([overshoot, worst], i) =>
    ({service: 'bank', rule: `rule-${i}`, limit: 100, overshoot, worst_debt: worst}));
  const [self, like] = [event.peers.find((peer) => peer.self), event.peers.find((peer) => !peer.self)];
  const made = (name, changes) => ({...like, name, region: name, state: 'active', share: 0.04, ...changes});
  event.peers = [self, made('gone', {state: 'left', forgotten: true}), made('quiet', {state: 'silent'}),
    ...Array.from({length: 21}, (_, i) => made(`region-${i}`))];
  const {page} = await visit(browser, 'about:blank');
  await page.route('**/v1/live', (route) => route.fulfill({body: `data: ${JSON.stringify(event)}\n\n`}));
  await page.goto(url);
  await page.waitForSelector('#bounds tbody tr:nth-child(5)');
  const marks = await page.$$eval('#bounds tbody tr', (rows) => rows.map((row) => row.lastElementChild.textContent));
  ok(marks.join('|') === '0|2|\u2715 6|27|\u2715 28', 'a bound is called broken where the alert would be', marks);
  const row = await page.textContent('#peers [data-peer=gone]');
  ok(row.includes('forgotten') && !await page.$('#map [data-peer=gone]'), 'a peer that is forgotten is called so', row);
  const named = await page.$$eval('#map g:has(text)', (peers) => peers.map((peer) => peer.dataset.peer).sort().join());
  ok(named === ['quiet', self.name].sort().join(), 'of many peers the silent one has its name on the map', named);
  await page.close();
}

// ---- eyes, screens, keyboards ----

// The least contrast between a text and what is behind it (WCAG 2), of all texts of the page.
function leastContrast() {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([red, green, blue]) => [red, green, blue].map((part) => part / 255)
    .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] > 0)
        return colour;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility() &&
    [...one.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim() !== ''));
  return texts.map((one) => {
    const style = getComputedStyle(one), drawn = one instanceof SVGElement;
    const a = light(parts(drawn ? style.fill : style.color)), b = light(ground(one));
    return {ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text: one.textContent.slice(0, 40)};
  }).reduce((least, next) => next.ratio < least.ratio ? next : least);
}

async function checkColours({page}) {
  const grounds = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({colorScheme});
    grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    const least = await page.evaluate(leastContrast);
    ok(least.ratio >= 4.5, `texts can be read when it is ${colorScheme}`, least);
  }
  ok(grounds[0] !== grounds[1], 'light and dark differ', grounds);
  await page.emulateMedia({colorScheme: 'light'});
}

async function checkPhone({page}) {
  await page.setViewportSize({width: 360, height: 740});
  await page.waitForFunction(() => document.querySelector('#map').viewBox.baseVal.width < 360);
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  ok(widths[0] <= widths[1], 'a page of 360 pixels is not wider than it is', widths);
  const wide = await page.$$eval('main section *', (all) => {
    const right = (one) => one.getBoundingClientRect().right;
    return all.filter((one) => !one.closest('.scroll') && right(one) > right(one.closest('section')) + 1)
      .map((one) => one.outerHTML);
  });
  ok(wide.length === 0, 'nothing leaves its card', wide);
  const small = await page.$$eval('#map text', (texts) => texts.map((text) => text.getBoundingClientRect())
    .filter((box) => box.height < 10 || box.left < 0 || box.right > 360).length);
  ok(small === 0, 'and its letters have their size', small);
  await page.setViewportSize({width: 1200, height: 900});
}

async function checkKeyboard(browser) {
  const {page, complaints} = await visit(browser, url);
  const focused = () => page.evaluate(() => {
    const one = document.activeElement, style = getComputedStyle(one);
    return {name: one.name || one.className || one.id || one.tagName, seen: style.outlineStyle !== 'none'};
  });
  await live(page);
  await page.keyboard.press('Tab');
  ok((await focused()).name === 'skip', 'the first stop leads past the figures', await focused());
  await page.keyboard.press('Enter');
  const stops = [];
  for (let i = 0; i < 6; i++) {
    await page.keyboard.press('Tab');
    const stop = await focused();
    stops.push(stop.name);
    if (!stop.seen)
      ok(false, 'every stop is seen', stop);
  }
  ok(stops.join() === 'service,rule,endpoint,tier,ids,BUTTON', 'to the inspector, field by field', stops);
  for (let i = 0; i < 5; i++)
    await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('shop');
  for (let i = 0; i < 4; i++)
    await page.keyboard.press('Tab');
  await page.keyboard.type('user=mallory');
  await page.keyboard.press('Enter');
  ok(/refused now/.test(await (await page.waitForSelector('#answer h3')).textContent()), 'which answers to Enter');
  await page.focus('#ask [name=ids]');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('nobody-knows=this');
  await page.keyboard.press('Enter');
  ok(await page.waitForSelector('#answer .mark'), 'whatever is asked');
  ok(complaints.filter((text) => !/status of 400/.test(text)).length === 0, 'without a complaint', complaints);
}

// ---- the password ----

async function checkPassword(browser) {
  const {page, context} = await visit(browser, guardedUrl);
  await page.waitForSelector('#door[open]');
  ok(await page.evaluate(() => document.activeElement.name) === 'password', 'a daemon with a password asks for it');
  await page.keyboard.type('wrong');
  await page.keyboard.press('Enter');
  ok(await page.waitForSelector('#door-wrong:not([hidden])'), 'a wrong one is called wrong');
  await page.waitForSelector('#door[open]');
  await page.keyboard.type('swordfish');
  await page.keyboard.press('Enter');
  await live(page);
  ok(!await page.$('#door[open]'), 'the right one opens');
  const kept = await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length);
  ok(kept === 0 && (await context.cookies()).length === 0, 'and is kept in memory alone');
  ok(!page.url().includes('swordfish'), 'not in the address');
  await page.reload();
  ok(await page.waitForSelector('#door[open]'), 'so that a page that is loaded anew asks again');
}

async function main() {
  const browser = await open();
  try {
    if (url === undefined)
      return;
    const visited = await checkPage(browser);
    await checkRefusedKey(visited);
    await checkOddKey(visited);
    await checkColours(visited);
    await checkPhone(visited);
    await checkPartition(visited);
    const {asked, complaints} = visited, origin = new URL(url).origin;
    const strange = asked.filter((one) => !one.startsWith(origin + '/') && !one.startsWith('data:'));
    ok(strange.length === 0 && asked.length > 4, 'nobody but the daemon was asked', strange);
    ok(complaints.length === 0, 'the console is silent', complaints);
    await checkMade(browser, visited);
    await checkLoss(visited);
    await checkKeyboard(browser);
    await checkPassword(browser);
    console.log('done');
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.log(`not ok a check could be made: ${JSON.stringify(String(error))}`);
  process.exitCode = 1;
});
