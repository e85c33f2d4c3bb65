#!/bin/sh
# Puts into a folder what one compiled service needs to run: its workspaces without sources and tests, and their
# production dependencies at the versions of package-lock.json. The build stage of the Dockerfile runs it.
#   assemble.sh <service> <folder>
set -eu
service=$1
folder=$2

npx turbo prune "@makerbook/$service" --production --use-gitignore=false --out-dir "$folder"

cd "$folder"
# Drop what only development needs: then the pruned lock file is complete, and npm ci sticks to it.
npm pkg delete devDependencies --workspaces --include-workspace-root
npm pkg delete optionalDependencies scripts packageManager
npm install --package-lock-only --ignore-scripts
npm ci
npm sbom --sbom-format cyclonedx --sbom-type application --omit dev > sbom.cdx.json

# Remove sources, tests, types and maps, and the native addons of other platforms.
rm -rf .npmrc .gitignore .turbo turbo.json
for workspace in contracts/* shared/* services/*; do
  rm -rf "$workspace/src" "$workspace/test" "$workspace/golden" "$workspace/sol" "$workspace/schema" \
    "$workspace/.turbo" "$workspace/dist/testing" "$workspace/dist/.tsbuildinfo" "$workspace"/tsconfig*.json
  find "$workspace" -path '*/dist/*' -name '*.test.js' -delete
done
find . \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -type f -delete
prebuilds=node_modules/secp256k1/prebuilds
if [ -d "$prebuilds" ]; then
  find "$prebuilds" -mindepth 1 -maxdepth 1 ! -name "linux-$(node -p process.arch)" -exec rm -r {} +
fi
find . -type d -empty -delete

# Fail here, not at the first deployment, if a module is missing, or if a service that verifies lacks libsecp256k1.
node --input-type=module -e "
  const { SettingsError } = await import('@makerbook/settings');
  try { await import('./services/$service/dist/run.js'); }
  catch (error) { if (!(error instanceof SettingsError)) throw error; }
  const signatures = './shared/signatures/dist/index.js';
  if ((await import('node:fs')).existsSync(signatures)) {
    const { recoveryLibrary } = await import(signatures);
    if (recoveryLibrary.name !== 'libsecp256k1') throw new Error(recoveryLibrary.reason);
  }
  process.exit(0);"
