/** The banks that an application reaches: by country, kept for a day, because they change rarely. */
import { LRUCache } from 'lru-cache'
import { type Clock, dayMs } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { Institution } from '../linking.ts'
import type { CallContext } from '../port.ts'
import { toShownText } from '../shown-text.ts'
import type { Application } from './application.ts'
import type { EnableBankingClient } from './client.ts'
import { ApplicationBody, Aspsp, AspspsBody, readBody, type WireAspsp } from './wire.ts'

const keptMs = dayMs
/** Lists of countries, each with the banks of one. */
const maxKept = 100

export interface Banks {
  /** Sorted. @throws UpstreamError */
  countries(application: Application, call: CallContext): Promise<readonly string[]>
  /** Sorted by name. */
  list(application: Application, country: string, call: CallContext): Promise<readonly WireAspsp[]>
  /** @throws UpstreamError `rejected` where there is no such bank. */
  find(application: Application, institutionId: string, call: CallContext): Promise<WireAspsp>
}

export function makeBanks(options: {
  readonly client: EnableBankingClient
  readonly clock: Clock
  readonly countries: readonly string[] | null
}): Banks {
  const { client, clock } = options
  const lru = { max: maxKept, ttl: keptMs, ttlResolution: 0, perf: clock }
  const kept = new LRUCache<string, readonly WireAspsp[]>(lru)
  const ofApplications = new LRUCache<string, readonly string[]>(lru)

  async function list(application: Application, country: string, call: CallContext) {
    const key = `${application.id} ${country}`
    const known = kept.get(key)
    if (known !== undefined) return known
    const query = new URLSearchParams({ country, psu_type: 'personal', service: 'AIS' })
    const request = { method: 'GET', route: '/aspsps', target: `/aspsps?${query}` } as const
    const { aspsps } = readBody(AspspsBody, await client.send(application, request, call))
    const banks = aspsps
      .flatMap((one) => {
        const parsed = Aspsp.safeParse(one)
        return parsed.success && parsed.data.country === country ? [parsed.data] : []
      })
      .sort((left, right) => left.name.localeCompare(right.name, 'en'))
    kept.set(key, banks)
    return banks
  }

  return {
    list,
    async countries(application, call) {
      const { countries } = options
      if (countries !== null && !application.isOwn) return countries
      const known = ofApplications.get(application.id)
      if (known !== undefined) return known
      const told = await readApplication(client, application, call)
      const found = [...new Set(told.countries ?? [])].sort()
      ofApplications.set(application.id, found)
      return found
    },
    async find(application, institutionId, call) {
      const [, country = '', name = ''] = /^([A-Z]{2}):(.{1,300})$/su.exec(institutionId) ?? []
      const banks = country === '' ? [] : await list(application, country, call)
      const found = banks.find((bank) => bank.name === name)
      if (found !== undefined) return found
      const detail = 'there is no such bank in the list of this country'
      throw new UpstreamError('enablebanking', { kind: 'rejected', status: 404, detail })
    },
  }
}

export async function readApplication(
  client: EnableBankingClient,
  application: Application,
  call: CallContext,
) {
  const request = { method: 'GET', route: '/application', target: '/application' } as const
  return readBody(ApplicationBody, await client.send(application, request, call))
}

/** The pair is the identity of a bank: there is no id. */
export const toInstitutionId = ({ country, name }: Pick<WireAspsp, 'country' | 'name'>): string =>
  `${country}:${name}`

export const toInstitution = (bank: WireAspsp): Institution => {
  return { id: toInstitutionId(bank), name: toShownText(bank.name), health: null, isOpen: true }
}
