import chromium from '@sparticuz/chromium';

/** Unpacks Chromium and its libraries into TMPDIR, and prints its path. A process reads TMPDIR only once. */
console.log(await chromium.executablePath());
