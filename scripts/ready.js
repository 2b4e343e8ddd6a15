/**
 * Asks the service of this machine whether it is ready, at the address of its admin listener. For the health
 * check of the image (`--once`) the exit code is the answer. The unit waits for it: what starts after it
 * finds a listening service and an admin token. It stops waiting after a minute without an error, since a
 * migration may take longer than systemd allows for a start.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { toLocalUrl } from '../src/settings/listener.ts'

const port = process.env.ADMIN_PORT?.trim() || '3001'
const url = `${toLocalUrl(process.env.ADMIN_HOST?.trim() || '127.0.0.1', port)}/readyz`
const deadline = Date.now() + 60_000

async function isReady() {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok
  } catch {
    // Not listening yet; the loop has a limit.
    return false
  }
}

const isAskedOnce = process.argv[2] === '--once'
let ready = port === '0' || (await isReady())
while (!ready && !isAskedOnce && Date.now() < deadline) {
  await sleep(200)
  ready = await isReady()
}
if (!ready && isAskedOnce) process.exitCode = 1
else if (!ready) process.stderr.write('tributary: not ready within a minute; the log says why\n')
