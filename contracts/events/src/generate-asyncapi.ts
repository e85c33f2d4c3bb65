import { writeFileSync } from 'node:fs';
import { describeTopics } from './testing/asyncapi/describe-topics.js';
import { readGoldenMessages } from './testing/index.js';

const document = describeTopics(readGoldenMessages());
writeFileSync(new URL('../asyncapi.json', import.meta.url), `${JSON.stringify(document, null, 2)}\n`);
