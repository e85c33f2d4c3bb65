export * from './follow-makers.js';
