import { readProcessesFile } from '@makerbook/local-stack';
import { readStack } from './demo/read-stack.js';
import { showBook } from './demo/show-book.js';

/** `npm run book`: the book of the stack that runs, as a router has it, until Ctrl-C. Exits with 1 where the feed is wrong. */
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
