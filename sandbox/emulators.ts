/**
 * The emulator of every provider of the contract: how to start it, the settings that point an adapter at it,
 * who lives there, and the credentials of its people. The compiler requires one entry per provider.
 */
import type { Provider } from '#contract/resources.ts'
import type { Clock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Credentials } from '#providers/credentials.ts'
import {
  type AkahuEmulator,
  demoApp,
  startAkahuEmulator,
  toPersonalTokens,
  toUserToken,
} from './akahu/emulator.ts'
import { akahuShows } from './akahu/shows.ts'
import {
  demoApplication,
  type EnableBankingEmulator,
  startEnableBankingEmulator,
  toSessionId,
} from './enablebanking/index.ts'
import { enablebankingShows } from './enablebanking/shows.ts'
import {
  type FiskilEmulator,
  fiskilDemoCredentials,
  fiskilDemoWebhookSecret,
  startFiskilEmulator,
  toEndUserId,
} from './fiskil/index.ts'
import { fiskilShows } from './fiskil/shows.ts'
import type { Shows } from './shows.ts'
import { type SimplefinEmulator, startSimplefinEmulator, toAccessUrl } from './simplefin/index.ts'
import { simplefinShows } from './simplefin/shows.ts'
import {
  demoCredentials,
  demoPersonalKey,
  type SnapTradeEmulator,
  startSnapTradeEmulator,
  toFields,
} from './snaptrade/index.ts'
import { snaptradeShows } from './snaptrade/shows.ts'
import { startUpEmulator, toToken, type UpEmulator } from './up/index.ts'
import { upShows } from './up/shows.ts'

export interface EmulatorStart {
  readonly clock: Clock
  readonly seed: string
  /** 0: any free port. */
  readonly port: number
}

/** By provider name. */
export interface Emulators {
  readonly fiskil: FiskilEmulator
  readonly akahu: AkahuEmulator
  readonly snaptrade: SnapTradeEmulator
  readonly up: UpEmulator
  readonly simplefin: SimplefinEmulator
  readonly enablebanking: EnableBankingEmulator
}

/** A listening emulator, and the settings that point an adapter at it. */
interface Started<Name extends Provider> {
  readonly emulator: Emulators[Name]
  readonly access: NonNullable<ProviderAccess[Name]>
}

type Entries = {
  readonly [Name in Provider]: {
    start(options: EmulatorStart): Promise<Started<Name>>
    /** What is to be seen of each magic user. */
    readonly shows: Shows
    /** What links the person of this name, at the emulator that the access leads to. */
    link(person: string, access: { readonly baseUrl: string }): Credentials
    /** The same person by a key of their own; absent: nobody has one. */
    linkPersonally?(person: string): Credentials
    /** The settings of an installation that has one person's own key in place of those of `start`. */
    readonly personal?: Readonly<Record<string, string>>
  }
}

export const emulators: Entries = {
  fiskil: {
    shows: fiskilShows,
    async start(options) {
      const emulator = await startFiskilEmulator(options)
      const access = {
        baseUrl: emulator.url,
        ...fiskilDemoCredentials,
        webhookSecret: fiskilDemoWebhookSecret,
        version: 'v3',
      }
      return { emulator, access }
    },
    link: (person) => ({ provider: 'fiskil', endUserId: toEndUserId(person) }),
  },
  akahu: {
    shows: akahuShows,
    async start(options) {
      const emulator = await startAkahuEmulator(options)
      const { baseUrl, oauthUrl } = emulator
      return { emulator, access: { baseUrl, oauthUrl, ...demoApp } }
    },
    link: (person) => ({ provider: 'akahu', userToken: toUserToken(person) }),
    linkPersonally: (person) => ({ provider: 'akahu', ...toPersonalTokens(person) }),
    // A personal app has no secret.
    personal: { appToken: toPersonalTokens('healthy').appToken, appSecret: '' },
  },
  snaptrade: {
    shows: snaptradeShows,
    async start(options) {
      const emulator = await startSnapTradeEmulator(options)
      const access = { baseUrl: emulator.url, keyKind: 'commercial', ...demoCredentials } as const
      return { emulator, access }
    },
    link: (person) => ({ provider: 'snaptrade', ...toFields(person) }),
    personal: { keyKind: 'personal', ...demoPersonalKey },
  },
  up: {
    shows: upShows,
    async start(options) {
      const emulator = await startUpEmulator(options)
      return { emulator, access: { baseUrl: emulator.baseUrl } }
    },
    link: (person) => ({ provider: 'up', token: toToken(person) }),
  },
  simplefin: {
    shows: simplefinShows,
    async start(options) {
      const emulator = await startSimplefinEmulator(options)
      return { emulator, access: { baseUrl: emulator.baseUrl, allowPrivate: true } }
    },
    // A setup token works once; an access URL links the same person as often as wanted.
    link: (person, { baseUrl }) => ({
      provider: 'simplefin',
      setupToken: toAccessUrl(baseUrl, person),
    }),
  },
  enablebanking: {
    shows: enablebankingShows,
    async start(options) {
      const emulator = await startEnableBankingEmulator(options)
      const { id: applicationId, privateKey } = demoApplication
      const access = { baseUrl: emulator.url, applicationId, privateKey, countries: null }
      return { emulator, access }
    },
    link: (person) => ({
      provider: 'enablebanking',
      session: toSessionId(demoApplication.id, person),
    }),
  },
}
