import { readOptions } from '@makerbook/settings';
import { orExit } from './demo/find-stack.js';

readOptions(
  `npm run book
  shows the book of the stack that runs (MAKERBOOK_DATA: its folder, .local unless given), as a router has it, until Ctrl-C`,
  {},
);
await orExit(async (found) => (await import('./demo/show-book.js')).showBook(found));
