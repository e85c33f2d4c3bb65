import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { settingsTable, sharedSettings } from '@makerbook/settings/testing';
import { gatewaySettings } from './gateway-env.js';
import { stackSettings } from './stack-env.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const shared = new Set(Object.values(sharedSettings).flatMap((group) => Object.values(group)));

describe('the README', () => {
  test.each([
    ['npm start', stackSettings],
    ['the gateway', gatewaySettings],
  ])('holds every setting of %s that is not a shared one with its default and meaning', (_name, settings) => {
    const own = Object.entries(settings).filter(([, setting]) => !shared.has(setting));
    expect(readme).toContain(settingsTable(Object.fromEntries(own)));
  });
});
