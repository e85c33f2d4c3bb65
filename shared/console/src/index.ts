export { createConsole } from './create-console.js';
export { consoleSettings } from './settings.js';
