/** The types of the settings of the providers, made from their facts. */
import type { Provider } from '#contract/resources.ts'
import type { KnownFacts } from '#providers/all-facts.ts'
import type { SettingName, Values } from './settings.ts'

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

/** Null: not configured. In sandbox mode the emulators are used instead. */
export type ProvidersConfig = { readonly [Name in Provider]: ProviderSettings<Name> | null }
