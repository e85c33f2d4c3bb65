import { readProcessesFile } from '@makerbook/local-stack';
import { readOptions } from '@makerbook/settings';
import { readStack } from './demo/read-stack.js';
import { showBook } from './demo/show-book.js';

/** Exits with 1 where the feed is wrong. */
readOptions(
  `npm run book
  shows the book of the stack that runs (MAKERBOOK_DATA: its folder, .local unless given), as a router has it, until Ctrl-C`,
  {},
);
const folder = process.env['MAKERBOOK_DATA'] ?? '.local';
try {
  await showBook({
    stack: readStack(folder),
    topicPrefix: process.env['TOPIC_PREFIX'] ?? readProcessesFile(folder)?.settings['TOPIC_PREFIX'] ?? '',
    output: process.stdout,
    nowMs: Date.now,
  });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
