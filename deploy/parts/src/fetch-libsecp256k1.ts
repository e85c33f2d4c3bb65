import { fetchJars, findBinary } from './fetch-jars.js';

/** Folders of the jar. Their names use Java's words for processors. */
const JAR_PLATFORMS: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x86_64',
  'linux-arm64': 'linux-aarch64',
};

/**
 * Fetches a current libsecp256k1 as a shared library for glibc. It comes from a jar with a binding for the JVM, which
 * exports the functions of the C library too.
 * @returns the path of the library, or undefined if the jar has none for this machine
 * @throws PartError when Maven is missing or fails
 */
export async function fetchLibsecp256k1(onProgress?: (line: string) => void): Promise<string | undefined> {
  const platform = JAR_PLATFORMS[`${process.platform}-${process.arch}`];
  if (platform === undefined) return undefined;
  return findBinary(await fetchJars(onProgress), `/${platform}/libsecp256k1-jni.so`);
}
