/**
 * A process that takes concurrency leases on the Redis of its first argument and holds them until it is
 * killed. The second argument is the lifetime of a lease in milliseconds, shorter than the product's, so that
 * tests need not wait.
 */

import { openRedisKv } from '#fast/redis.ts'
import { silentJobs, silentLog, silentMetrics } from '#fast/report.ts'
import { systemClock } from '#kernel/time.ts'

const [url = '', leaseMs = '', secret = '', key = '', places = ''] = process.argv.slice(2)
const kv = await openRedisKv({
  url,
  clock: systemClock,
  secret: Buffer.from(secret, 'base64'),
  maxEntryBytes: 1024,
  report: { log: silentLog, metrics: silentMetrics, jobs: silentJobs },
  leaseTiming: { leaseMs: Number(leaseMs), renewEveryMs: Number(leaseMs) / 3 },
})
for (let place = 0; place < Number(places); place += 1) {
  const { lease } = await kv.leases.acquire(key, Number(places))
  if (lease === null) throw new Error('a place was taken already')
}
process.stdout.write('held\n')
// The connection keeps the process running; it ends at most this long after the test.
setTimeout(() => process.exit(1), 60_000)
