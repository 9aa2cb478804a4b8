// What the tests and the pictures of the dashboard share: Chromium, pages that note what they ask and complain of, and
// waiting with a deadline that a slow machine keeps.
'use strict';
const {chromium} = require('playwright-core');

const DEADLINE_MS = 120000;

async function open() {
  const program = process.env.CHROMIUM || '/usr/bin/chromium';
  // A container has no user namespaces for the sandbox, and often a small /dev/shm; the page comes from our own daemon.
  return chromium.launch({executablePath: program, timeout: DEADLINE_MS,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']});
}

// {page, asked: [url], complaints: [text]}
async function visit(browser, url, options = {}) {
  const context = await browser.newContext({viewport: {width: 1200, height: 900}, colorScheme: 'light', ...options});
  context.setDefaultTimeout(DEADLINE_MS);
  context.setDefaultNavigationTimeout(DEADLINE_MS);
  const page = await context.newPage(), asked = [], complaints = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()))
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return {page, context, asked, complaints};
}

const live = (page) => page.waitForSelector('#link[data-state=live]');

// Calls `condition` until it is true, or the deadline has come.
async function until(condition) {
  for (const end = Date.now() + DEADLINE_MS; Date.now() < end; await new Promise((later) => setTimeout(later, 50))) {
    const value = await condition();
    if (value)
      return value;
  }
  return null;
}

module.exports = {open, visit, live, until, DEADLINE_MS};
