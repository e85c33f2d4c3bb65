import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { overlays, readText } from './read-manifests.js';
import { makeSecrets } from './testing/make-secrets.js';

describe('the command that makes the Secrets', () => {
  test.each(overlays)('makes the Secrets of %s once, and leaves existing ones as they are', (overlay) => {
    const once = makeSecrets(overlay, 2);
    expect([...once.keys()]).toEqual([...makeSecrets(overlay).keys()]);
    expect(once.get('quote-signer/key')).toMatch(/^0x1{64}$/);
  });

  test('gives each service a password of its own', () => {
    const made = makeSecrets('production', 2);
    const passwords = [...made].filter(([file]) => /^postgres-.*\/password$/.test(file)).map(([, value]) => value);
    expect(new Set(passwords).size).toBe(4);
    for (const password of passwords) expect(password).toMatch(/^[0-9a-f]{48}$/);
  });

  test('lets query into Redis with the lines of services/query/README.md', () => {
    const made = makeSecrets('production');
    const password = new URL(made.get('redis/query') ?? '').password;
    expect(made.get('redis/users.acl')).toContain(`>${password} `);
    const lines = made.get('redis/users.acl')?.replace(`>${password}`, '>password') ?? 'none';
    expect(readText('services/query/README.md')).toContain(`\n${lines}`);
  });

  test('signs a certificate for the name of Redis', () => {
    const made = makeSecrets('production');
    const read = (key: string) => new X509Certificate(made.get(`redis-certificate/${key}`) ?? '');
    expect(read('tls.crt').checkHost('redis')).toBe('redis');
    expect(read('tls.crt').verify(read('ca.crt').publicKey)).toBe(true);
    expect(made.get('redis-certificate/tls.key')).toContain('PRIVATE KEY');
  });
});
