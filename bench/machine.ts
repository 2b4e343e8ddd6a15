/**
 * Where the time of the machine's cores goes while something runs: this process, Redis, nobody. In
 * microseconds of CPU.
 */
import { cpus } from 'node:os'
import type { Redis } from 'ioredis'

export interface MachineTime<Result> {
  readonly result: Result
  /** Of all cores together: everything, and what nobody used. */
  readonly cores: { readonly all: number; readonly idle: number }
  /** Of this process, which generates the load. */
  readonly self: number
  readonly redis: number
}

export async function measureMachine<Result>(
  client: Redis,
  work: () => Promise<Result>,
): Promise<MachineTime<Result>> {
  const before = await read(client)
  const result = await work()
  const after = await read(client)
  return {
    result,
    cores: { all: after.all - before.all, idle: after.idle - before.idle },
    self: after.self - before.self,
    redis: after.redis - before.redis,
  }
}

async function read(client: Redis) {
  const info = await client.info('cpu')
  const seconds = (name: string) => Number(new RegExp(`^${name}:(.+)$`, 'm').exec(info)?.[1])
  const times = cpus().map((core) => core.times)
  const idle = times.reduce((sum, core) => sum + core.idle, 0)
  const busy = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0)
  const { user, system } = process.cpuUsage()
  return {
    all: (idle + busy) * 1000,
    idle: idle * 1000,
    self: user + system,
    redis: (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6,
  }
}
