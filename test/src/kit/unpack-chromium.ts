import chromium from '@sparticuz/chromium';

/** Unpacks Chromium and its libraries into TMPDIR, which is read once in a process, and prints its path. */
console.log(await chromium.executablePath());
