// Two pictures of the dashboard for the README: run by tests/e2e/browser/pictures, which has started the daemons.
//
//   node pictures.js URL DIRECTORY
'use strict';
const path = require('path');
const {open, visit, live} = require('./browser.js');

const [url, directory] = process.argv.slice(2);
const POINTS = 45; // seconds of requests on the picture

async function take(browser, name, options) {
  const {page} = await visit(browser, url, options);
  await live(page);
  await page.waitForSelector('#map [data-state=silent]');
  if (!options.isMobile) {
    await page.click('#hot button[data-key]');
    await page.waitForSelector('#answer svg.picture');
  }
  await page.waitForFunction((points) => (document.querySelector('#requests path.admitted').getAttribute('d')
    .match(/[ML]/g) ?? []).length >= points, POINTS);
  await page.evaluate(() => document.activeElement.blur());
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.screenshot({path: path.join(directory, name), fullPage: !options.isMobile});
}

async function main() {
  const browser = await open();
  try {
    await take(browser, 'dashboard.png', {viewport: {width: 1000, height: 900}});
    await take(browser, 'dashboard-phone.png',
      {viewport: {width: 360, height: 740}, colorScheme: 'dark', isMobile: true});
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
