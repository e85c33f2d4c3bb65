import { fetchJars, findBinary } from './fetch-jars.js';

/** Folders of the jar, named by the words of Java's world for processors. */
const JAR_PLATFORMS: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x86_64',
  'linux-arm64': 'linux-aarch64',
};

/**
 * A current libsecp256k1 as a shared library for glibc, out of a jar that Maven fetches: a binding for the JVM, which
 * exports the functions of the C library too.
 * @returns its path, or undefined where the jar has none for this machine
 * @throws PartError when Maven is missing or fails
 */
export async function fetchLibsecp256k1(onProgress?: (line: string) => void): Promise<string | undefined> {
  const platform = JAR_PLATFORMS[`${process.platform}-${process.arch}`];
  if (platform === undefined) return undefined;
  return findBinary(await fetchJars(onProgress), `/${platform}/libsecp256k1-jni.so`);
}
