import chromium from '@sparticuz/chromium';

/** Unpacks Chromium, with the libraries that it needs, into TMPDIR, and prints its path. A process of its own: TMPDIR is read once. */
console.log(await chromium.executablePath());
