export { describeRights } from './describe-rights.js';
export { describeSchema } from './describe-schema.js';
export { hashReadModel, type ReadModelHash } from './hash-read-model.js';
export { addressOf, hashOf, insertRow, openTestDatabase, type TestDatabase } from './open-test-database.js';
