export { createDocuments } from './create-documents.js';
export type { Deployment } from './render-pages.js';
