/**
 * The health check of an image: exits with 0 where the service answers `/livez` (or the path given) with 200 within two
 * seconds, else with 1. In Kubernetes the kubelet asks by itself.
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
