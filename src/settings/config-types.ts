/**
 * The type of the configuration, separate from the code that reads it, so that the reading and the checking
 * code do not depend on each other.
 */
import type { Provider } from '#contract/resources.ts'
import type { Secret } from '#kernel/secret.ts'
import type { KnownFacts } from '#providers/all-facts.ts'
import type { ListenAddress } from './listener.ts'
import type { SettingName, Values } from './settings.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

export type Environment = Readonly<Record<string, string | undefined>>

type ValueOf<Name> = Name extends SettingName ? Values[Name] : never
type ValuesOf<Names> = { readonly [Field in keyof Names]: ValueOf<Names[Field]> }

/** The settings of one provider, under the variable names that its facts define. */
export type ProviderSettings<Name extends Provider> = SettingsOf<KnownFacts[Name]>

type SettingsOf<Facts extends KnownFacts[Provider]> = {
  readonly baseUrl: ValueOf<Facts['settings']['baseUrl']>
} & OwnCredentials<Facts['settings']['required'], Facts['isOpen']> &
  ValuesOf<Facts['settings']['optional']> &
  ValuesOf<Facts['settings']['preset']>

/** Null where they are not set: possible at providers that are open to people's own keys. */
type OwnCredentials<Names, IsOpen extends boolean> = {
  readonly [Field in keyof Names]: IsOpen extends true
    ? ValueOf<Names[Field]>
    : NonNullable<ValueOf<Names[Field]>>
}

export interface Config {
  readonly mode: 'live' | 'sandbox'
  readonly role: Values['ROLE']
  readonly logLevel: Values['LOG_LEVEL']
  readonly listener: ListenAddress
  readonly adminListener: ListenAddress
  /** As configured; `toOrigins` gives the effective ones. */
  readonly baseUrl: string | null
  readonly mcpUrl: string | null
  readonly authUrl: string | null
  readonly trustedProxies: TrustedProxies
  /** Absolute; holds the generated secrets. */
  readonly dataDir: string
  /** Absolute; holds the embedded database: `dataDir`, or its `sandbox` folder in sandbox mode. */
  readonly storeDir: string
  readonly databaseUrl: Secret<string> | null
  readonly redisUrl: Secret<string> | null
  /** The Redis of cached answers; null without `redisUrl`. */
  readonly redisCacheUrl: Secret<string> | null
  /** Null: to be generated or read from `dataDir` (`loadSecrets`). */
  readonly encryptionKeys: Secret<readonly Uint8Array[]> | null
  /** Null: to be generated or read from `dataDir` (`loadSecrets`). */
  readonly adminToken: Secret<string> | null
  readonly plans: {
    readonly defaultPlan: 'none' | 'developer' | 'professional'
    readonly brokerageDuringTrial: boolean
  }
  readonly signUp: 'open' | 'invite' | 'closed'
  readonly smtpUrl: Secret<string> | null
  /** Null: not configured. In sandbox mode the emulators are used instead. */
  readonly providers: { readonly [Name in Provider]: ProviderSettings<Name> | null }
  readonly upstreamTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly syncIntervalMinutes: number
  readonly cache: { readonly maxEntryBytes: number; readonly maxBytes: number }
  /** Per minute, except `heavyInFlight`; 0 means no limit. */
  readonly limits: {
    readonly cheap: number
    readonly mid: number
    readonly heavy: number
    readonly preauth: number
    readonly preauthIp: number
    readonly register: number
    readonly token: number
    readonly signin: number
    readonly heavyInFlight: number
  }
  readonly events: {
    readonly allowPrivate: boolean
    readonly retryScheduleSeconds: readonly number[]
    readonly retentionHours: number
  }
  readonly mcpMaxAnswerBytes: number
  /** The variables that are set, in the order of the documentation, with secrets masked. */
  readonly given: readonly { readonly name: SettingName; readonly shown: string }[]
  /** The `.env` that was read, and the variables whose value comes from it; null when there was none. */
  readonly environmentFile: { readonly path: string; readonly names: readonly SettingName[] } | null
  /** Risks that do not prevent the start; one sentence each, without secrets. */
  readonly warnings: readonly string[]
}
