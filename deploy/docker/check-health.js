/**
 * The health check of an image. Exits with 0 if the service answers `/livez` (or the given path) with 200 within two
 * seconds, and with 1 otherwise. In Kubernetes the kubelet asks by itself.
 */
const { OPS_PORT: port = '9090' } = process.env;
try {
  const response = await fetch(`http://127.0.0.1:${port}${process.argv[2] ?? '/livez'}`, {
    signal: AbortSignal.timeout(2000),
  });
  process.exitCode = response.ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
