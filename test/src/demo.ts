import { readStack } from './demo/read-stack.js';
import { tellStory } from './demo/tell-story.js';

/** `npm run demo`: needs a stack that runs. Exits with 0 when all became true, else with 1 and a sentence. */
try {
  await tellStory({
    stack: readStack(process.env['MAKERBOOK_DATA'] ?? '.local'),
    topicPrefix: process.env['TOPIC_PREFIX'] ?? '',
    say: (line) => console.log(line),
    nowMs: Date.now,
  });
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
