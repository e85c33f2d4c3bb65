import { expect, test } from '@jest/globals';
import { listFiles } from './list-files.js';
import { readText } from './read-repository.js';

/** If this fails: `npm run observability`, then deploy/k8s/render.sh, and look at the difference. */
test.each([...listFiles()])('%s is what its source makes', (path, content) => {
  expect(readText(path)).toBe(content);
});
