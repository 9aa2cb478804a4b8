// The page of a daemon: reads /v1/live, draws it, and asks for what the reader wants to know. It asks nobody but its
// own daemon, keeps the password in a variable, and writes texts of others as text alone.
'use strict';
(() => {
  const POINTS_MAX = 180;       // seconds of requests that are drawn
  const SILENCE_MS = 5000;      // without an event: the daemon is not heard
  const AGAIN_MS = [1000, 2000, 5000];
  const HOT_MS = 5000;          // between two looks at the limited keys,
  const RULES_MS = 10000;       // and at what rules say
  const KEYS_SHOWN = 10;
  const HOT_RULES_SHOWN = 8;
  const RULES_SHOWN = 200;
  const MAP_HEIGHT = 272;
  const ABOVE_PEER = 70;        // the room of its circle and its name

  const byId = (id) => document.getElementById(id);
  const page = {password: null, state: null, points: [], failures: 0, heard: 0, silent: new Set(), rules: new Map()};

  // ---- elements ----

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    return dress(made, attributes, children);
  }

  function drawn(name, attributes, ...children) {
    return dress(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
  }

  function dress(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {}))
      if (value !== null && value !== undefined && value !== false)
        made.setAttribute(name, value === true ? '' : value);
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  function cell(text, number) {
    return element('td', number ? {class: 'number'} : {}, text);
  }

  // Replaces rows, but not while one of their buttons has the focus: a keyboard would lose its place.
  function fill(parent, children) {
    if (parent.contains(document.activeElement) && parent !== document.activeElement)
      return;
    parent.replaceChildren(...children);
  }

  // ---- texts ----

  const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
  const short = new Intl.NumberFormat('en', {notation: 'compact', maximumFractionDigits: 1});
  const fine = new Intl.NumberFormat('en', {maximumFractionDigits: 1});
  const count = (value) => (Math.abs(value) < 10000 ? whole : short).format(value);
  const percent = (share) => fine.format(share * 100) + ' %';
  const ms = (value) => value === null || value === undefined ? '–'
    : value < 1000 ? whole.format(value) + ' ms' : time(value / 1000);

  function time(seconds) {
    return seconds < 120 ? fine.format(seconds) + ' s'
      : seconds < 7200 ? fine.format(seconds / 60) + ' min'
        : seconds < 172800 ? fine.format(seconds / 3600) + ' h' : fine.format(seconds / 86400) + ' d';
  }

  // ---- the daemon ----

  class Refused extends Error {
    constructor(status, text) {
      super(text);
      this.status = status;
    }
  }

  async function ask(path, options = {}) {
    for (;;) {
      const headers = {...options.headers};
      if (page.password !== null)
        headers.Authorization = 'Bearer ' + page.password;
      const answer = await fetch(path, {...options, headers, cache: 'no-store', credentials: 'omit'});
      if (answer.status !== 401)
        return answer;
      await enter(page.password !== null);
    }
  }

  async function askJson(path, options) {
    const answer = await ask(path, options);
    const body = await answer.json().catch(() => null);
    if (!answer.ok && answer.status !== 429)
      throw new Refused(answer.status, body?.detail ?? answer.statusText);
    return body;
  }

  // One question for the password, whoever needs it.
  let entering = null;
  function enter(wrong) {
    entering ??= new Promise((entered) => {
      const door = byId('door'), input = door.querySelector('input');
      byId('door-wrong').hidden = !wrong;
      input.value = '';
      door.oncancel = (event) => event.preventDefault();
      door.onclose = () => {
        page.password = input.value;
        input.value = '';
        entering = null;
        entered();
      };
      door.showModal();
      input.focus();
    });
    return entering;
  }

  async function readEvents(stop) {
    const answer = await ask('v1/live', {signal: stop});
    if (!answer.ok)
      throw new Refused(answer.status, (await answer.json()).detail);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done)
        return;
      text += value;
      for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2))
        if (text.startsWith('data: '))
          take(JSON.parse(text.slice(6, end)));
    }
  }

  async function listen() {
    for (;;) {
      const stop = new AbortController();
      const watch = setInterval(() => {
        if (page.heard > 0 && performance.now() - page.heard > SILENCE_MS)
          stop.abort();
      }, 500);
      let why = 'the daemon ended';
      try {
        await readEvents(stop.signal);
      } catch (error) {
        why = error instanceof Refused ? error.message : 'the daemon is not heard';
      }
      clearInterval(watch);
      page.heard = 0;
      say('lost', why + '; trying again' + (page.state === null ? ''
        : `. These are the figures of ${new Date(page.state.time_ms).toLocaleTimeString()}`));
      await new Promise((later) => setTimeout(later, AGAIN_MS[Math.min(page.failures++, AGAIN_MS.length - 1)]));
    }
  }

  function say(state, text) {
    const link = byId('link');
    if (link.textContent !== text)
      link.textContent = text;
    link.dataset.state = document.body.dataset.link = state;
  }

  // ---- an event ----

  function take(state) {
    const before = page.state;
    page.heard = performance.now();
    page.failures = 0;
    page.state = state;
    say('live', 'live');
    byId('daemon').textContent = `${state.node}, region ${state.region}: ${state.state}` +
      (state.decides ? '' : ', decides nothing') + `; version ${state.version}, up ${time(state.uptime_ms / 1000)}`;
    document.title = `Headgate: ${state.node}`;
    note(before, state);
    drawMap(state);
    listPeers(state);
    drawRequests();
    drawBounds(state);
    countRules(state);
    tellNews(state);
  }

  // Requests a second between two events; a daemon that was started anew counts from 0.
  function note(before, state) {
    const again = before === null || state.uptime_ms <= before.uptime_ms || state.node !== before.node;
    const seconds = again ? 0 : (state.uptime_ms - before.uptime_ms) / 1000;
    page.points.push(again ? null : {
      admitted: (state.admitted_requests - before.admitted_requests) / seconds,
      refused: (state.refused_requests - before.refused_requests) / seconds,
      reasons: Object.fromEntries(Object.entries(state.refused_by_reason)
        .map(([reason, total]) => [reason, total - before.refused_by_reason[reason]])),
    });
    if (page.points.length > POINTS_MAX)
      page.points.shift();
  }

  const fullName = (peer) => peer.name + (peer.region === peer.name ? '' : ` (${peer.region})`);
  const isAway = (peer) => peer.state === 'silent';

  function tellNews(state) {
    const away = state.peers.filter(isAway).map((peer) => fullName(peer)), several = away.length > 1;
    const differs = state.peers.filter((peer) => peer.config_differs && !peer.self).map((peer) => peer.name);
    const clocks = state.peers.filter(isOff).map((peer) => `${fullName(peer)} runs ${clockOf(peer)}`);
    const parts = [];
    if (away.length > 0)
      parts.push(`Not heard by this daemon: ${away.join(', ')}. ` +
        (several ? 'Their shares of every limit are kept for them.' : 'Its share of every limit is kept for it.'));
    if (differs.length > 0)
      parts.push(`Another config: ${differs.join(', ')}.`);
    if (clocks.length > 0)
      parts.push(`A clock is off: ${clocks.join(', ')}.`);
    const news = byId('news'), text = parts.join(' ');
    news.hidden = text === '';
    if (news.textContent !== text)
      news.textContent = text;
  }

  // ---- the map ----

  // As wide as it is shown, so that letters have their size on every screen.
  function sizeOf(svg, height) {
    const width = Math.max(200, Math.min(svg.clientWidth, 900));
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    return width;
  }

  // Peers stand on an arc above this daemon, from the left to the right.
  function placeOf(index, total, width) {
    const half = Math.min(0.42, 0.14 * total);
    const angle = Math.PI * (total === 1 ? 1.5 : 1.5 - half + 2 * half * index / (total - 1));
    return {x: width / 2 + (width / 2 - 62) * Math.cos(angle), y: 210 + 142 * Math.sin(angle)};
  }

  // As `headgate nodes` says it.
  const stateOf = (peer) => peer.forgotten ? 'forgotten' : peer.state;

  function drawMap(state) {
    const map = byId('map'), width = sizeOf(map, MAP_HEIGHT), self = state.peers.find((peer) => peer.self);
    const others = state.peers.filter((peer) => !peer.self && peer.state !== 'left')
      .sort((a, b) => a.name < b.name ? -1 : 1);
    const places = others.map((peer, i) => placeOf(i, others.length, width)), centre = {x: width / 2, y: 204};
    const parts = [], top = Math.min(centre.y, ...places.map((place) => place.y)) - ABOVE_PEER;
    map.setAttribute('viewBox', `0 ${top} ${width} ${MAP_HEIGHT - top}`); // without the sky above the highest
    others.forEach((peer, i) => parts.push(...drawTie(peer, centre, places[i], others.length)));
    // Of many, those are named of which there is something to say, as long as their names have room.
    const room = others.filter((peer) => peer.state !== 'active').length <= 3;
    others.forEach((peer, i) => parts.push(
      drawPeer(peer, places[i], others.length, others.length <= 16 || (room && peer.state !== 'active'))));
    if (self)
      parts.push(drawPeer(self, centre, others.length, true));
    map.replaceChildren(...parts);
    map.setAttribute('aria-label', state.peers.map((peer) =>
      `${peer.name} ${stateOf(peer)}, share ${percent(peer.share)}` + (peer.self ? ', this daemon' : '')).join('; '));
  }

  function drawTie(peer, from, to, total) {
    const middle = {x: (from.x + to.x) / 2, y: (from.y + to.y) / 2};
    const parts = [drawn('line', {class: 'tie ' + peer.state, x1: from.x, y1: from.y, x2: to.x, y2: to.y})];
    if (isAway(peer))
      parts.push(drawn('path', {class: 'cross', d: `M${middle.x - 7} ${middle.y - 7}l14 14m0 -14l-14 14`}));
    if (total <= 8)
      parts.push(drawn('text', {class: 'dim', x: middle.x + (to.x < from.x ? -12 : 12), y: middle.y + 18,
        'text-anchor': to.x < from.x ? 'end' : 'start'},
        isAway(peer) ? `silent for ${ms(peer.heard_ms)}` : ms(peer.round_trip_ms ?? peer.heard_ms)));
    return parts;
  }

  function drawPeer(peer, at, total, named) {
    const radius = (total <= 8 ? 9 : 5) + (total <= 8 ? 22 : 12) * Math.sqrt(peer.share);
    const group = drawn('g', {'data-peer': peer.name, 'data-state': peer.state},
      drawn('circle', {class: `peer ${peer.state} ${peer.self ? 'self' : ''}`, cx: at.x, cy: at.y, r: radius}),
      drawn('title', {}, `${fullName(peer)}: ${stateOf(peer)}, ${percent(peer.share)}`));
    if (named) {
      const y = peer.self ? at.y + radius + 15 : at.y - radius - 22; // away from the lines between them
      group.append(drawn('text', {x: at.x, y, 'text-anchor': 'middle'}, peer.name),
        drawn('text', {class: 'dim', x: at.x, y: y + 15, 'text-anchor': 'middle'},
          percent(peer.share) + (peer.state === 'active' ? '' : ', ' + peer.state)));
    }
    return group;
  }

  const MARKS = {active: '●', joining: '◐', silent: '✕', left: '○'};

  const isOff = (peer) => peer.clock === 'fast' || peer.clock === 'slow';

  // As `headgate nodes` says it.
  function clockOf(peer) {
    const off = fine.format(Math.abs(peer.clock_rate_millionths / 1e6 - 1) * 100) + ' % ';
    const rate = peer.clock === 'unmeasured' ? '' : isOff(peer) ? off + peer.clock : peer.clock;
    const jumps = peer.clock_jumps > 0 ? peer.clock_jumps + (peer.clock_jumps === 1 ? ' jump' : ' jumps') : '';
    return [rate, jumps].filter((text) => text !== '').join(', ');
  }

  function listPeers(state) {
    fill(byId('peers').tBodies[0], state.peers.map((peer) => element('tr',
      {'data-peer': peer.name, 'data-state': stateOf(peer)},
      element('th', {scope: 'row'}, fullName(peer) + (peer.self ? ', this daemon' : '')),
      element('td', {class: 'mark ' + peer.state}, `${MARKS[peer.state] ?? ''} ${stateOf(peer)}` +
        (peer.config_differs ? ', another config' : '')),
      cell(peer.state === 'left' ? '' : percent(peer.share), true),
      cell(peer.self ? '' : peer.heard_ms === null ? 'never' : ms(peer.heard_ms), true),
      cell(peer.self ? '' : ms(peer.round_trip_ms), true),
      cell(peer.self ? '' : whole.format(peer.unacknowledged_batches), true),
      element('td', {class: isOff(peer) ? 'mark no' : 'mark'}, clockOf(peer)))));
  }

  // ---- requests ----

  // The least 1, 2 or 5 times a power of ten that is not less.
  function roundUp(value) {
    const unit = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
    return unit * [1, 2, 5, 10].find((factor) => factor * unit >= value);
  }

  function drawRequests() {
    const svg = byId('requests'), points = page.points;
    const box = {left: 44, right: sizeOf(svg, 180) - 6, top: 8, bottom: 156};
    const most = roundUp(Math.max(1, ...points.map((point) => point ? Math.max(point.admitted, point.refused) : 0)));
    const x = (i) => box.right - (points.length - 1 - i) * (box.right - box.left) / (POINTS_MAX - 1);
    const y = (value) => box.bottom - value / most * (box.bottom - box.top);
    const pathOf = (name) => points.map((point, i) => point === null ? ''
      : (i === 0 || points[i - 1] === null ? 'M' : 'L') + x(i).toFixed(1) + ' ' + y(point[name]).toFixed(1)).join('');
    const last = points.at(-1) ?? {admitted: 0, refused: 0};
    svg.replaceChildren(
      ...[0, 0.5, 1].flatMap((part) => [
        drawn('line', {class: 'axis', x1: box.left, x2: box.right, y1: y(part * most), y2: y(part * most)}),
        drawn('text', {class: 'dim', x: box.left - 6, y: y(part * most) + 4, 'text-anchor': 'end'},
          most < 10 ? fine.format(part * most) : count(part * most)),
      ]),
      drawn('text', {class: 'dim', x: box.left, y: 174}, `${POINTS_MAX} s ago`),
      drawn('text', {class: 'dim', x: box.right, y: 174, 'text-anchor': 'end'}, 'now'),
      drawn('path', {class: 'admitted', d: pathOf('admitted')}),
      drawn('path', {class: 'refused', d: pathOf('refused')}));
    svg.setAttribute('aria-label',
      `admitted ${count(last.admitted)} a second, refused ${count(last.refused)} a second`);
    byId('admitted-now').textContent = count(last.admitted);
    byId('refused-now').textContent = count(last.refused);
    drawReasons();
  }

  const REASONS = {
    capacity: 'the limit is used up', share: 'this region\u2019s share is used up',
    isolation: 'a peer is silent', too_large: 'the cost is too large', deny_list: 'on a deny list',
    limit_zero: 'the limit is 0', log_full: 'the log is full', keys_full: 'too many keys',
    central_down: 'the central store is down', not_ready: 'not ready', config_differs: 'another config',
  };

  // Of the time that is drawn, the most frequent reason first.
  function drawReasons() {
    const sums = {};
    for (const point of page.points)
      for (const [reason, total] of Object.entries(point?.reasons ?? {}))
        sums[reason] = (sums[reason] ?? 0) + total;
    const parts = Object.entries(sums).filter(([, total]) => total > 0).sort((a, b) => b[1] - a[1])
      .map(([reason, total]) => `${REASONS[reason] ?? reason} (${count(total)})`);
    const text = parts.length === 0 ? '' : `Refused in that time: ${parts.join(', ')}.`;
    if (byId('reasons').textContent !== text)
      byId('reasons').textContent = text;
  }

  // ---- bounds ----

  const nameOf = (service, rule) => service === '' ? `limit ${rule} of the config` : `${rule} of ${service}`;

  // The measure is late, so a few tokens beyond the overshoot are no broken bound: as in the alert for Prometheus.
  const isBroken = (bound) => bound.worst_debt > 1.1 * bound.overshoot + 5;

  function drawBounds(state) {
    const rows = state.bounds.slice(0, RULES_SHOWN).map((bound) => {
      const most = Math.max(bound.overshoot, bound.worst_debt, 1), over = isBroken(bound);
      return element('tr', {},
        element('th', {scope: 'row'}, nameOf(bound.service, bound.rule),
          element('div', {class: 'hint'}, `limit ${count(bound.limit)}`)),
        element('td', {}, drawn('svg',
          {class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
          drawn('rect', {class: 'declared', width: 100 * bound.overshoot / most, height: 10}),
          drawn('rect', {class: over ? 'over' : 'measured', y: 2, width: 100 * bound.worst_debt / most, height: 6}))),
        cell(count(bound.overshoot), true),
        element('td', {class: 'number mark ' + (over ? 'no' : '')}, (over ? '✕ ' : '') + count(bound.worst_debt)));
    });
    fill(byId('bounds'), rows.length === 0 ? [element('p', {class: 'empty'}, 'No rule has a limit.')]
      : [table(['Rule', '', ['Declared'], ['Measured']], rows), leftOut(state.bounds_left_out)]
        .filter((part) => part !== null));
  }

  function table(heads, rows) {
    return element('table', {}, element('thead', {}, element('tr', {}, ...heads.map((head) => Array.isArray(head)
      ? element('th', {scope: 'col', class: 'number'}, head[0])
      : element(head === '' ? 'td' : 'th', head === '' ? {} : {scope: 'col'}, head)))), element('tbody', {}, ...rows));
  }

  const leftOut = (left) => left > 0 ? element('p', {class: 'hint'}, `${count(left)} more are not shown.`) : null;

  // ---- rules ----

  // What rules say; their counts come with the events.
  async function watchRules() {
    for (;;) {
      try {
        if (!document.hidden && page.state !== null)
          await readRules();
      } catch {
        // the line in the head says that the daemon is away
      }
      await new Promise((later) => setTimeout(later, page.state === null ? 200 : RULES_MS));
    }
  }

  async function readRules() {
    const found = new Map();
    let path = 'v1/rules';
    while (path !== null && found.size < RULES_SHOWN) {
      const answer = await ask(path);
      if (!answer.ok)
        return;
      for (const rule of (await answer.json()).rules.filter((one) => one.overrides_of === undefined))
        found.set(`${rule.service ?? 'default'}/${rule.id}`, rule);
      path = /<([^>]*)>; *rel="next"/.exec(answer.headers.get('Link') ?? '')?.[1] ?? null;
    }
    page.rules = found;
    countRules(page.state);
  }

  const AMOUNTS = ['rate', 'limit', 'window', 'burst', 'concurrency', 'overshoot'];
  const amounts = (rule) => AMOUNTS.filter((name) => rule[name] !== undefined)
    .map((name) => name === 'rate' ? String(rule.rate) : `${name} ${rule[name]}`).join(', ');

  // A row stays the same element while its rule is there, so that what is unfolded stays so.
  function countRules(state) {
    const body = byId('rules').tBodies[0], names = new Set();
    byId('no-rules').hidden = state.rules.length > 0;
    byId('rules').hidden = state.rules.length === 0;
    for (const counts of state.rules) {
      const name = `${counts.service}/${counts.rule}`, known = page.rules.get(name);
      names.add(name);
      const row = rowOf(body, name, counts);
      row.cells[2].textContent = known ? known.by ?? 'user' : '';
      row.cells[3].textContent = known ? known.endpoint ?? '*' : '';
      row.querySelector('summary').textContent = known ? amounts(known) || 'its tiers' : '';
      row.querySelector('pre').textContent = known ? JSON.stringify(known, null, 1) : '';
      row.cells[5].textContent = known?.mode ?? (known ? 'enforce' : '');
      row.cells[5].className = `mark ${known?.mode ?? ''}`;
      const trial = row.querySelector('.trial');
      trial.hidden = counts.canary === undefined;
      trial.textContent = counts.canary === undefined ? '' : onTrial(counts.canary);
      [counts.allowed, counts.denied, counts.shadow_denied, counts.over_limit].forEach((value, i) => {
        row.cells[6 + i].textContent = count(value);
      });
    }
    for (const row of [...body.rows].filter((one) => !names.has(one.dataset.rule)))
      row.remove();
    byId('more-rules').hidden = state.rules_left_out === 0;
    byId('more-rules').textContent = `${count(state.rules_left_out)} more are not shown.`;
  }

  // What a version on trial denied, beside the version before it on the other keys.
  function onTrial(canary) {
    const part = (denied, allowed) => `${count(denied)} of ${count(denied + allowed)} denied`;
    return `on trial for ${canary.share_millionths / 1e4}% of keys: ${part(canary.denied, canary.allowed)}; ` +
      `for the others ${part(canary.stable_denied, canary.stable_allowed)}`;
  }

  function rowOf(body, name, counts) {
    const there = [...body.rows].find((row) => row.dataset.rule === name);
    if (there)
      return there;
    const history = element('ol', {class: 'history', 'aria-label': `versions of ${counts.rule}, newest first`});
    const details = element('details', {}, element('summary', {}), element('pre', {}), history);
    details.addEventListener('toggle', () => details.open && listVersions(history, counts));
    const row = element('tr', {'data-rule': name},
      element('th', {scope: 'row'}, counts.rule, element('div', {class: 'hint trial', hidden: ''})),
      cell(counts.service), cell(''), cell(''), element('td', {}, details), cell(''),
      cell('', true), cell('', true), cell('', true), cell('', true));
    body.append(row);
    return row;
  }

  async function listVersions(list, {service, rule}) {
    try {
      const told = await askJson(`v1/rules/${encodeURIComponent(service)}/${encodeURIComponent(rule)}/history`);
      fill(list, told.versions.map(versionItem));
    } catch (error) {
      fill(list, [element('li', {class: 'empty'}, error.message)]);
    }
  }

  function versionItem(version) {
    const when = version.unix_ms > 0 ? new Date(version.unix_ms).toLocaleString() : 'at an unknown time';
    const what = version.deleted ? 'ended' : version.rule === null ? 'too long to show here' : amounts(version.rule);
    return element('li', {value: version.version},
      `${when}, ${version.author || 'unknown'}: ${what}${version.canary === null ? '' : `, a trial of ${version.canary}`}`,
      version.in_force ? element('strong', {}, ' in force') : '',
      version.note === null ? '' : element('div', {class: 'hint'}, version.note));
  }

  // ---- limited keys ----

  async function watchHot() {
    for (;;) {
      try {
        if (!document.hidden && page.state !== null)
          listHot(await askJson(`v1/hot?by=refused&over=minutes&count=${KEYS_SHOWN}`));
      } catch (error) {
        fill(byId('hot'), [element('p', {class: 'empty'}, error.message)]);
      }
      await new Promise((later) => setTimeout(later, page.state === null ? 200 : HOT_MS));
    }
  }

  function listHot(told) {
    const rows = told.rules.filter((rule) => rule.keys.length > 0).slice(0, HOT_RULES_SHOWN);
    fill(byId('hot'), rows.length === 0
      ? [element('p', {class: 'empty'}, 'Nobody was refused here in the last minutes.')]
      : rows.flatMap((rule) => [
        element('h3', {}, nameOf(rule.service ?? '', rule.rule) + (rule.tier === null ? '' : `, tier ${rule.tier}`)),
        element('p', {class: 'hint'}, `${count(rule.total)} refusals in the last ${time(rule.seconds)}`),
        element('ul', {class: 'keys'}, ...rule.keys.map((key) => hotKey(rule, key))),
      ]));
  }

  // A key by its whole name can be explained; a fingerprint alone does not tell its identifiers.
  function hotKey(rule, key) {
    const refused = element('span', {class: 'number'}, key.count === 1 ? 'once' : `${count(key.count)} times`);
    if (key.name === null)
      return element('li', {}, element('code', {class: 'name', title: 'a fingerprint: the config remembers no names'},
        key.fingerprint), refused);
    const shown = nameParts(key.name);
    if (key.name.endsWith('...'))
      return element('li', {}, element('span', {class: 'name', title: 'the name is too long to be known as a whole'},
        ...shown), refused);
    const button = element('button', {type: 'button', class: 'plain name', 'data-key': key.name}, ...shown);
    button.addEventListener('click', () => {
      const form = byId('ask').elements, known = page.rules.get(`${rule.service}/${rule.rule}`) ?? {};
      form.service.value = rule.service ?? 'default';
      form.rule.value = rule.service === null ? rule.rule : '';
      form.endpoint.value = (known.endpoint ?? '*').replace(/\*$/, '');
      form.tier.value = rule.tier ?? '';
      form.ids.value = [key.name, ...idsBeside(known, key.name)].join(' ');
      const inspector = byId('inspector'), top = inspector.getBoundingClientRect().top;
      inspector.focus({preventScroll: true});
      if (top < 0 || top > window.innerHeight / 2)
        inspector.scrollIntoView({block: 'start'});
      explain();
    });
    return element('li', {}, button, refused);
  }

  // A value with the letters that its escapes stand for, unless one of these is not seen, or turns its neighbours.
  function readable(value) {
    try {
      const text = decodeURIComponent(value);
      return /[\p{Cc}\p{Cn}\p{Co}\p{Zl}\p{Zp}%\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text) ? value : text;
    } catch {
      return value; // half a letter, or no text
    }
  }

  // Values may be written from the right to the left: each is an island.
  const nameParts = (name) => name.split(' ').flatMap((word, i) => {
    const begin = word.slice(0, word.indexOf('=') + 1);
    return [(i > 0 ? ' ' : '') + begin, element('bdi', {}, readable(word.slice(begin.length)))];
  });

  // What a request must say beside the identifiers that are counted, for the rule to count it.
  function idsBeside(rule, name) {
    const named = new Set(name.split(' ').map((word) => word.split('=')[0]));
    return Object.entries(rule.when ?? {}).filter(([dimension]) => !named.has(dimension)).map(([dimension, values]) =>
      `${dimension}=${encodeURIComponent(String(Array.isArray(values) ? values[0] : values).replace(/\*$/, ''))}`);
  }

  // ---- the key inspector ----

  // A text for a query; escapes that it has stay, since they may stand for bytes that are no text.
  const escaped = (text) => text.split(/(%[0-9A-Fa-f]{2})/)
    .map((part, i) => i % 2 ? part : encodeURIComponent(part)).join('');

  // "user=alice ip=1.2.3.4" as ['user=alice', 'ip=1.2.3.4']; a word alone is a user.
  function readIds(text) {
    return text.split(/\s+/).filter((part) => part !== '').map((word) => {
      const at = word.indexOf('=');
      return `${at < 0 ? 'user' : encodeURIComponent(word.slice(0, at))}=${escaped(word.slice(at + 1))}`;
    });
  }

  function asked() {
    const fields = new FormData(byId('ask')), words = readIds(fields.get('ids'));
    for (const field of ['service', 'rule', 'endpoint', 'tier'])
      if (fields.get(field) !== '')
        words.push(`${field === 'service' ? 'service_id' : field}=${encodeURIComponent(fields.get(field))}`);
    return words.join('&');
  }

  async function explain() {
    const answer = byId('answer');
    try {
      answer.replaceChildren(...explained(await askJson('v1/explain?' + asked())));
    } catch (error) {
      answer.replaceChildren(element('p', {class: 'mark no'}, '✕ ' + error.message));
    }
  }

  const verdict = (allowed, text) => element('h3', {class: 'mark ' + (allowed ? 'yes' : 'no')},
    (allowed ? '✓ ' : '✕ ') + text);
  const after = (retry) => retry === null ? '' : `; it may come again in ${ms(retry)}`;

  function explained(told) {
    return [
      told.allowed ? verdict(true, `One more request is allowed now in ${told.region}`)
        : verdict(false, `One more request is refused now in ${told.region}${after(told.retry_after_ms)}`),
      ...told.rules.length === 0 ? [element('p', {}, 'No rule counts it.')] : told.rules.flatMap(explainedRule),
      ...told.elsewhere.length === 0 ? [] : [element('h3', {}, 'Elsewhere'),
        element('ul', {}, ...told.elsewhere.map((rule) => element('li', {},
          `Rule ${nameOf(rule.service_id, rule.rule)}, endpoint ${rule.endpoint}: ${rule.says}`)))],
    ];
  }

  function explainedRule(rule) {
    const head = element('h3', {}, `Rule ${rule.rule}: ${rule.says ?? (rule.allowed ? 'allowed' : 'refused')}`);
    if (rule.settled === undefined)
      return [head];
    return [head, picture(rule), ...words(rule).map((text) => element('p', {}, text))];
  }

  function words(rule) {
    const texts = [`${count(rule.remaining)} of ${count(rule.limit)} tokens are left, as far as this region knows; ` +
      `it may admit ${count(rule.available_now)} of them at once.`];
    if (rule.unsettled > 0)
      texts.push(`${fine.format(rule.unsettled)} tokens that were spent here are unsettled: some peer may not know ` +
        `of them yet. ${fine.format(rule.allowance)} may be.`);
    if (rule.granted > 0)
      texts.push(`${count(rule.granted)} of the tokens that it may admit were granted by other regions.`);
    texts.push(rule.reset_after_ms > 0 ? `Full again in ${ms(rule.reset_after_ms)} if nobody asks.`
      : 'Nothing is used.');
    texts.push(`All regions together may overshoot by ${fine.format(rule.overshoot_bound)} tokens at most ` +
      `(declared: ${count(rule.overshoot_declared)}); the most that was seen here is ${fine.format(rule.worst_debt)}.`);
    if (rule.last_spender !== null)
      texts.push(`${rule.last_spender} spent last.`);
    return texts;
  }

  // Whose the tokens of a whole limit are: spent ones, those that this region may admit, and the parts of the others.
  function partsOf(rule) {
    const others = page.state.peers.filter((peer) => !peer.self && peer.share > 0 && peer.state !== 'left');
    const sum = others.reduce((all, peer) => all + peer.share, 0), settled = Math.max(0, rule.settled);
    // What peers have granted is spent in what is settled, and may be admitted here.
    const rest = Math.max(0, settled - rule.unsettled - Math.max(0, rule.available_now - rule.granted));
    return [
      {kind: 'spent', name: 'spent', tokens: Math.max(0, rule.limit - settled - rule.granted)},
      {kind: 'told', name: 'unsettled here', tokens: Math.min(rule.unsettled, settled)},
      {kind: 'free', name: page.state.region, tokens: Math.min(rule.available_now, rule.limit)},
      ...others.map((peer) => ({kind: 'others', name: peer.region, tokens: rest * peer.share / sum})),
    ].filter((part) => part.tokens >= 0.001);
  }

  function picture(rule) {
    const width = Math.max(200, byId('answer').clientWidth), parts = partsOf(rule);
    const sum = Math.max(rule.limit, parts.reduce((all, part) => all + part.tokens, 0));
    const svg = drawn('svg', {class: 'picture', viewBox: `0 0 ${width} 62`, role: 'img', 'aria-label':
      parts.map((part) => `${part.name} ${fine.format(part.tokens)}`).join(', ') + ` of ${count(rule.limit)} tokens`});
    let at = 0;
    for (const part of parts) {
      const size = part.tokens / sum * width;
      svg.append(drawn('rect', {class: part.kind, x: at + 1, y: 2, width: Math.max(size - 2, 1), height: 24, rx: 2}));
      if (size > 8 * part.name.length)
        svg.append(drawn('text', {x: at + 2, y: 41}, part.name),
          drawn('text', {class: 'dim', x: at + 2, y: 56}, fine.format(part.tokens)));
      at += size;
    }
    return svg;
  }

  byId('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    explain();
  });

  listen();
  watchHot();
  watchRules();
})();
