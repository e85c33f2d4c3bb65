export type { Linked, Token } from './browser/state.js';
export { type ConsoleOptions, createConsole } from './create-console.js';
export { consoleSettings } from './settings.js';
