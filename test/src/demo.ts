import { readOptions } from '@makerbook/settings';
import { findStack, orExit } from './demo/find-stack.js';

readOptions(
  `npm run demo
  follows orders from their signature to their end, on the stack that runs (MAKERBOOK_DATA: its folder, .local unless given)`,
  {},
);
await orExit(async () => (await import('./demo/tell-story.js')).tellStory(findStack()));
