export * from './follow-makers.js';
export * from './maker-budgets.js';
