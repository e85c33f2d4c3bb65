import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { settingsTable } from '@makerbook/settings';
import { gatewaySettings } from './gateway-env.js';
import { stackSettings } from './stack-env.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  test.each([
    ['npm start', stackSettings],
    ['the gateway', gatewaySettings],
  ])('holds every setting of %s with its default and meaning', (_name, settings) => {
    expect(readme).toContain(settingsTable(settings));
  });
});
