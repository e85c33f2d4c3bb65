export { parseCommand } from './parse-command.js';
