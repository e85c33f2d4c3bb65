import { readProcessesFile } from '@makerbook/local-stack';
import { readStack } from './demo/read-stack.js';
import { tellStory } from './demo/tell-story.js';

/** `npm run demo`: needs a stack that runs. Exits with 0 when all became true, else with 1 and a sentence. */
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
