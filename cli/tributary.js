#!/usr/bin/env node
/**
 * The entry of the command `tributary`: plain JavaScript that any Node 20 can run. It calls the starter,
 * which installs missing packages and runs the command on the pinned runtime.
 */
process.argv.splice(2, 0, 'cli/main.ts')
await import('../scripts/pinned.js')
