import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { chooseLibrary } from './choose-library.js';
import type { Curve } from './load-library.js';

const byPackage: Curve = { recoverKey: () => false, sign: refuse, publicKeyOf: refuse };

function refuse(): never {
  throw new Error('nothing is signed here');
}

describe('without libsecp256k1 the npm package is used, with the reason', () => {
  test.each([
    ['is missing', '/there/is/none/libsecp256k1.so'],
    ['is no library', fileURLToPath(import.meta.url)],
  ])('if the file %s', async (_title, file) => {
    const { library, curve } = await chooseLibrary(file, async () => byPackage);
    expect(library).toEqual({ name: 'secp256k1 (npm)', reason: expect.stringContaining(file) });
    expect(curve).toBe(byPackage);
  });

  test('unless the package has no binary either: the error says what to do', async () => {
    const none = () => Promise.reject(new Error('No native build was found\nloaded from: …'));
    await expect(chooseLibrary('/there/is/none/libsecp256k1.so', none)).rejects.toThrow(
      /put one of your system .*\/there\/is\/none.* or install a C\+\+ compiler.*`npm rebuild secp256k1` \(No native build was found\)$/s,
    );
  });
});
