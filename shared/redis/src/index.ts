export * from './connect.js';
export * from './keys.js';
