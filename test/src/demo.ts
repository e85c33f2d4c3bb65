import { readProcessesFile } from '@makerbook/local-stack';
import { readOptions } from '@makerbook/settings';
import { readStack } from './demo/read-stack.js';
import { tellStory } from './demo/tell-story.js';

/** Exits with 0 when all became true, else with 1 and a sentence. */
readOptions(
  `npm run demo
  follows orders from their signature to their end, on the stack that runs (MAKERBOOK_DATA: its folder, .local unless given)`,
  {},
);
const folder = process.env['MAKERBOOK_DATA'] ?? '.local';
try {
  await tellStory({
    stack: readStack(folder),
    topicPrefix: process.env['TOPIC_PREFIX'] ?? readProcessesFile(folder)?.settings['TOPIC_PREFIX'] ?? '',
    say: (line) => console.log(line),
    nowMs: Date.now,
  });
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
