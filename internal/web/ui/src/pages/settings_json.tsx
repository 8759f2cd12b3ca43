// The whole config file as JSON.
import { useState } from "preact/hooks";
import { ApiError, change, get, type ConfigFile } from "../api.ts";
import { t } from "../i18n/index.ts";
import { Notice, errorText, toast, useLoad } from "../parts/basics.tsx";
import { Editor } from "../parts/editor.tsx";
import { Confirm } from "../parts/endpoint.tsx";
import { Skeleton } from "../parts/head.tsx";

export function AsJSON({ onClose }: { onClose: () => void }) {
  const { value: file, error: unread } = useLoad(() => get<ConfigFile>("config"), []);
  const [text, setText] = useState<string>();
  const [error, setError] = useState("");
  const [run, setRun] = useState("");
  const save = async (confirm = "") => {
    setError("");
    setRun("");
    try {
      await change("PUT", "config", { text, mark: file!.mark, confirm });
      toast(t("saved", file!.path));
      onClose();
    } catch (e) {
      if (e instanceof ApiError && e.run) setRun(e.run);
      else setError(errorText(e));
    }
  };
  return <div class="scroll editor"><section class="card as-json" data-testid="as-json">
    {unread && <Notice tone="err">{unread}</Notice>}
    {!file ? !unread && <Skeleton cards={["c12"]} /> : <>
      <p class="mut"><code>{file.path}</code> · {t("secretsKept")}</p>
      <Editor value={text ?? file.text} onChange={setText} label={file.path} />
      {error && <Notice tone="err">{error}</Notice>}
      {run && <Confirm run={run} onYes={() => void save(run)} onNo={() => setRun("")} />}
    </>}
    <div class="bar"><button type="button" class="button primary" disabled={!file || text === undefined || text === file.text} onClick={() => void save()}>{t("save")}</button>
      <button type="button" class="button" onClick={onClose}>{t("cancel")}</button></div>
  </section></div>;
}
