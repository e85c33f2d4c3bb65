export { describeRights } from './describe-rights.js';
export { describeSchema } from './describe-schema.js';
export { hashReadModel, type ReadModelHash } from './hash-read-model.js';
