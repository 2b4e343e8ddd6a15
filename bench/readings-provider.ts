/**
 * SimpleFIN and Enable Banking in a process of their own, without their daily limits. A GET of the port
 * that is reported answers with the requests for rows since the last one, by provider: paths and headers.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '#kernel/time.ts'
import type { EmulatorRequest } from '#sandbox/emulator.ts'
import {
  demoApplication,
  startEnableBankingEmulator,
  toSessionId,
} from '#sandbox/enablebanking/index.ts'
import { startSimplefinEmulator, toAccessUrl } from '#sandbox/simplefin/index.ts'
import { serveChild } from './serve.ts'

export interface AskedPage {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

export interface ReadingsFacts {
  readonly port: number
  readonly simplefin: { readonly baseUrl: string; readonly accessUrl: string }
  readonly enablebanking: {
    readonly url: string
    readonly session: string
    readonly application: { readonly id: string; readonly privateKey: string }
  }
}

export type AskedPages = Readonly<Record<'simplefin' | 'enablebanking', readonly AskedPage[]>>

const unlimited = 1_000_000
const clock = systemClock
const simplefin = await startSimplefinEmulator({ clock, requestsPerDay: unlimited })
const enablebanking = await startEnableBankingEmulator({ clock, callsPerDay: unlimited })
// A hundred calls a page would measure the calls alone.
enablebanking.site.pageSize = 500

function take(requests: EmulatorRequest[], rows: RegExp): readonly AskedPage[] {
  return requests
    .splice(0)
    .filter(({ path, rawQuery }) => rows.test(`${path}?${rawQuery}`))
    .map(({ path, rawQuery, headers }) => ({
      path: `${path}?${rawQuery}`,
      headers: { authorization: headers.authorization ?? '', accept: 'application/json' },
    }))
}

const server = createServer((_request, response) => {
  const asked: AskedPages = {
    simplefin: take(simplefin.requests, /\/accounts\?.*start-date/),
    enablebanking: take(enablebanking.requests, /\/transactions\?/),
  }
  response.end(JSON.stringify(asked))
})
server.listen(0, '127.0.0.1', () => {
  const facts: ReadingsFacts = {
    port: (server.address() as AddressInfo).port,
    simplefin: {
      baseUrl: simplefin.baseUrl,
      accessUrl: toAccessUrl(simplefin.baseUrl, 'history'),
    },
    enablebanking: {
      url: enablebanking.url,
      session: toSessionId(demoApplication.id, 'history'),
      application: demoApplication,
    },
  }
  serveChild(facts)
})
