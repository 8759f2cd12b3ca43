package env

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/problem"
)

// The codes of this package. A code never changes its meaning. The codes of the
// config file, AIO20.., belong to package config.
const (
	CodeUnknownCommand = "AIO1001"
	CodeUnknownFlag    = "AIO1002"
	CodeUsage          = "AIO1003"
	CodeTestFile       = "AIO1004"
	codeNoSchema       = "AIO2101"
	codeSchemaOff      = "AIO2102"
	CodeLogLevel       = "AIO2103"
	CodePort           = "AIO2104"
	CodeNoServer       = "AIO2110"
	CodeServerExists   = "AIO2111"
	CodeNotPending     = "AIO2112"
	CodeEntryChanged   = "AIO2113"
	codeServerOff      = "AIO2114"
	CodeConfirm        = "AIO2115"
	codeUnset          = "AIO2040" // same as in config
	CodeUnapproved     = "AIO2060" // same as in config
	CodeNoSecret       = "AIO2120"
	CodeKeychain       = "AIO2121"
	CodeNoKey          = "AIO2130"
	CodeKeyExists      = "AIO2131"
	CodeSignIn         = "AIO2135"
	CodeNoClient       = "AIO2140"
	CodeClientFile     = "AIO2141"
	CodeUnknownName    = "AIO2150"
	CodeNoVersion      = "AIO2151"
	CodeRecord         = "AIO2152"
	CodeDigest         = "AIO2153"
	CodeNeeds          = "AIO2154"
	CodeSteers         = "AIO2155"
	CodeAsk            = "AIO2156"
	CodeRegistry       = "AIO2157"
	CodeBundle         = "AIO2158"
	CodeAnswer         = "AIO2159"
	CodeLock           = "AIO2160"
	CodeBundleAway     = "AIO2161"
	CodeUpdate         = "AIO2162"
	CodeLearn          = "AIO2163"
	CodeUnconfined     = "AIO2164"
	CodeInUse          = "AIO4001"
	CodeNotRunning     = "AIO4002"
	CodeControl        = "AIO4003"
	CodeNoConsole      = "AIO4004"
	CodeService        = "AIO4005"
	CodeUpgrade        = "AIO4006"
	CodeDiskFull       = "AIO4007"
	CodeNotStarted     = "AIO4102"
)

// An explanation is the long text about a code.
type explanation struct{ EN, ZH string }

// explanations maps codes to explanations, including those of the tester.
var explanations = map[string]explanation{
	CodeUnknownCommand: {"There is no command of this name. `mcp-all-in-one help` lists the commands.",
		"没有这个命令。`mcp-all-in-one help` 列出全部命令。"},
	CodeUnknownFlag: {"The command has no such flag. `--help` after the command lists its flags.",
		"该命令没有这个选项。在命令后加 `--help` 查看全部选项。"},
	CodeUsage: {"The arguments do not fit the command. `--help` after the command shows how it is used.",
		"参数与命令不符。在命令后加 `--help` 查看用法。"},
	CodeTestFile: {"A test file cannot be read, or says something that test files do not have. The message names the file and what is wrong in it; `mcp-all-in-one test --help` shows a test file.",
		"测试文件无法读取，或含有测试文件不支持的内容。提示中给出了文件和错误；`mcp-all-in-one test --help` 中有示例。"},
	codeNoSchema: {"A schema is a named group of servers in the config file. The requested schema does not exist; the message lists the existing ones.",
		"schema 是配置文件中一组服务器的名称。要求的 schema 不存在；提示中列出了现有的 schema。"},
	codeSchemaOff: {"The schema is in the config file with \"enabled\": false, so none of its servers is started.",
		"该 schema 在配置文件中为 \"enabled\": false，其服务器不会启动。"},
	CodeLogLevel: {"The log has the levels error, warn, info and debug.", "日志级别只有 error、warn、info、debug。"},
	CodePort:     {"A port is a number from 1 to 65535; 0 takes a free one.", "端口是 1 到 65535 的数字；0 表示任意空闲端口。"},
	CodeNoServer: {"No server of this name is in the config file. `mcp-all-in-one list` shows the existing ones; if there are several schemas, choose one with --schema.",
		"配置文件中没有这个名称的服务器。`mcp-all-in-one list` 列出现有服务器；有多个 schema 时用 --schema 指定。"},
	CodeServerExists: {"A server of this name is in the config file already. Use --replace to change it, or another name.",
		"配置文件中已有同名服务器。用 --replace 修改它，或换一个名称。"},
	CodeNotPending: {"The server does not wait for approval: a person wrote its entry, or it was approved before.",
		"该服务器不在等待批准：它由人写入，或已经批准。"},
	CodeEntryChanged: {"The entry changed between being shown and being approved, so nothing was approved. Look at it again.",
		"条目在显示之后又被修改，因此没有批准。请重新查看。"},
	CodeConfirm: {"The command asks for confirmation, but its input is not a terminal. Read its output, then confirm in advance with --yes.",
		"该命令需要人工确认，但标准输入不是终端。请先阅读其输出，再用 --yes 预先确认。"},
	codeServerOff: {"The server is in the config file and switched off, so nothing is started and nothing is called. `mcp-all-in-one enable NAME` switches it on.",
		"该服务器在配置文件中已停用，因此不会启动，也不会调用。`mcp-all-in-one enable NAME` 可启用它。"},
	CodeNoSecret: {"No secret of this name is stored. `mcp-all-in-one secret ls` lists the names.",
		"没有这个名称的密钥。`mcp-all-in-one secret ls` 列出全部名称。"},
	CodeKeychain: {"The keychain of the system (Secret Service, Keychain or Credential Manager) could not be reached or is locked. Unlock it, or leave --keychain out: the encrypted file needs no keychain.",
		"无法访问系统钥匙串（Secret Service、Keychain 或凭据管理器），或它已锁定。请解锁，或不使用 --keychain：加密文件不需要钥匙串。"},
	CodeNoKey: {"No valid key has this id or name. `mcp-all-in-one key ls` lists the keys.",
		"没有这个 ID 或名称的有效 API 密钥。`mcp-all-in-one key ls` 列出全部密钥。"},
	CodeKeyExists: {"A valid key has this name already. Names tell keys apart when one is revoked: choose another name, or revoke that key first.",
		"已有同名的有效 API 密钥。撤销时以名称区分：请换一个名称，或先撤销该密钥。"},
	CodeSignIn: {"The sign-in to the server failed. The metadata of the server and of its authorization server is used only if it is safe: the same origin, https, PKCE, the expected issuer.",
		"登录服务器失败。只有在安全时才采用服务器及其授权服务器的元数据：同源、https、PKCE、签发者与预期一致。"},
	CodeNoClient: {"This client is not known. `mcp-all-in-one import` without arguments lists the known ones and where their files are.",
		"不认识这个客户端。不带参数的 `mcp-all-in-one import` 列出已知客户端及其文件。"},
	CodeClientFile: {"The client's file could not be read or changed; nothing was written. The message says where it stopped.",
		"无法读取或修改该客户端的文件；未写入任何内容。提示说明了出错位置。"},
	CodeService: {"The service of this user could not be installed, removed or asked about. It is a user unit of systemd, an agent of launchd, or a user service of Windows; the message contains its output. `mcp-all-in-one http` runs the gateway without any of them.",
		"无法安装、删除或查询此用户的服务。服务是 systemd 的用户单元、launchd 的代理或 Windows 的用户服务；提示中是它们给出的原因。`mcp-all-in-one http` 不需要它们即可运行网关。"},
	CodeUpgrade: {"The program was not replaced: a release could not be read, its signature or checksum is wrong, no key to check it with is compiled in, or a package manager owns the file. Nothing was changed; the message says how to upgrade instead.",
		"程序未被替换：无法读取发布、签名或校验和不符、程序未内置用于验证的公钥，或文件由包管理器管理。未作任何修改；提示说明了其他升级方式。"},
	CodeUnknownName: {"No registry has a server of this name. `mcp-all-in-one search WORD` lists the known names; `registries` in the config file says which registries are asked.",
		"没有注册表收录这个名称。`mcp-all-in-one search WORD` 列出现有名称；询问哪些注册表由配置文件中的 `registries` 决定。"},
	CodeNoVersion: {"The registry has the server, but not this version of it. The message lists the available versions; without a version the latest is used.",
		"注册表中有该服务器，但没有这个版本。提示中列出了现有版本；不写版本则使用最新版。"},
	CodeRecord: {"The registry's record of the server cannot be used: it is malformed, or it would run something other than one exact version of one package. Nothing was written and nothing was downloaded.",
		"注册表中该服务器的记录无法使用：格式不正确，或运行的不是某个软件包的一个确切版本。没有写入，也没有下载任何内容。"},
	CodeDigest: {"The bundle does not have the checksum that the registry gives: the file was replaced, or the download is incomplete. Nothing was unpacked.",
		"安装包的校验和与注册表所记录的不符：文件被替换，或下载不完整。没有解包任何内容。"},
	CodeNeeds: {"The program that runs the server is not installed, or is not in PATH. Install it, or choose another package with --package.",
		"运行该服务器的程序没有安装，或不在 PATH 中。请安装，或用 --package 选择其他方式。"},
	CodeUnconfined: {"A server of a registry or a bundle runs in a sandbox, and the program that runs this one cannot be confined. Choose another package with --package, or add it with --no-sandbox: then it can do all that you can.",
		"来自注册表或安装包的服务器在沙箱中运行，而运行该服务器的程序无法隔离。请用 --package 选择其他方式，或用 --no-sandbox 添加：它便能做你能做的一切。"},
	CodeSteers: {"The record or the bundle sets an environment variable that decides what programs load or where they connect. A server has no need for that, so it is refused.",
		"记录或安装包设置了决定程序加载内容或连接去向的环境变量。服务器不需要这样做，因此拒绝。"},
	CodeAsk: {"The server needs a value from you, but there is no terminal to ask on. Give it with --env, --arg or --header.",
		"该服务器需要由你提供的值，但没有可供询问的终端。请用 --env、--arg 或 --header 提供。"},
	CodeRegistry: {"A registry could not be reached, or sent an invalid response. A server that was fetched before can be added offline by its exact version; installed servers need no registry.",
		"无法访问注册表，或其应答不符合规范。以前取得过的服务器可按确切版本离线添加；已安装的服务器不需要注册表。"},
	CodeBundle: {"The whole bundle was refused, and nothing of it was kept: the path of a file leads outside of its folder, a size limit is exceeded, or the bundle does not follow the format.",
		"整个安装包被拒绝，没有保留任何内容：其中某个文件的路径指向文件夹之外、超出大小限制，或不符合格式。"},
	CodeBundleAway: {"The file of the bundle could not be opened or downloaded. A path is relative to the current folder.",
		"无法打开或下载安装包文件。路径相对于当前文件夹。"},
	CodeAnswer: {"The answer does not fit what the server asks for: a number, a choice, a path that exists.",
		"回答不符合服务器的要求：数字、选项，或存在的路径。"},
	CodeLock: {"The server could not be locked: npm or uv did not resolve it, or a package has no integrity. Their output is in the message; mcp.lock was not changed.",
		"无法锁定该服务器：npm 或 uv 未能解析，或某个软件包没有 integrity。提示中有它们的输出；mcp.lock 保持不变。"},
	CodeUpdate: {"The server cannot be updated: it was not added from a registry or a bundle, waits for approval, or its entry changed while you read. Nothing was written.",
		"无法更新该服务器：它不是从注册表或安装包添加的、正在等待批准，或其条目在你查看期间改变。没有写入任何内容。"},
	CodeLearn: {"The sandbox that the server needs could not be determined: this system has no sandbox, the server did not start, or its entry changed while you read. Nothing was written.",
		"无法确定该服务器需要的沙箱：本系统没有沙箱、服务器没有启动，或其条目在你查看期间改变。没有写入任何内容。"},
	CodeInUse: {"Another program listens on this address already, often another gateway. Stop it, or take another port with --port.",
		"该地址已被其他程序占用，通常是另一个网关。停止它，或用 --port 换一个端口。"},
	CodeNotRunning: {"The command needs a running gateway and none was found for this config file. Start one with `mcp-all-in-one http`.",
		"该命令需要正在运行的网关，但没有找到使用此配置文件的网关。用 `mcp-all-in-one http` 启动一个。"},
	CodeControl: {"A running gateway was found, but it did not do what was asked. The message comes from the gateway.",
		"找到了正在运行的网关，但它没有完成请求。提示是网关给出的。"},
	CodeNoConsole: {"The gateway runs without its console. Start it without --no-ui.",
		"网关没有提供控制台。启动时不要使用 --no-ui。"},
	CodeDiskFull: {"The disk of the named file has no space left, or the user's quota is used up. Free some space, then run the command again; a file that could not be written whole was left as it was.",
		"所示文件所在的磁盘没有剩余空间，或用户配额已用尽。请清理空间后重新运行；未能完整写入的文件保持原样。"},
	CodeNotStarted: {"The server's process could not be started, or ended before it answered. Its last lines on standard error often name the reason; `mcp-all-in-one doctor NAME` looks for the cause.",
		"服务器进程无法启动，或在应答之前退出。它在标准错误中的最后几行通常说明了原因；`mcp-all-in-one doctor NAME` 会查找原因。"},

	// The tester.
	CodeNotConnected: {"No client with this name or session is connected to the running gateway. The message lists the connected clients; a client that uses no session cannot be imitated.",
		"正在运行的网关没有这个名称或会话的已连接客户端；提示中列出了现有的客户端。不使用会话的客户端无法模仿。"},
	CodeAuth: {"The server answered 401 or 403: it requires authentication. Sign in with `mcp-all-in-one auth login NAME`, or give a token: `--header 'Authorization: Bearer TOKEN'`, or `headers` of its entry.",
		"服务器返回 401 或 403，要求身份验证。用 `mcp-all-in-one auth login NAME` 登录，或提供令牌：`--header 'Authorization: Bearer TOKEN'`，或其条目的 `headers`。"},
	CodeUnreachable: {"The server did not start, could not be reached, or ended before it answered. The last lines that it wrote to standard error are shown.",
		"服务器未能启动、无法连接，或在回答之前结束。错误信息会显示它在标准错误中的最后几行。"},
	CodeTool: {"The call was answered with an error of the protocol. With `data.reason` it is an error of the gateway; otherwise code, message and data are the server's own.",
		"调用得到了协议错误。如果有 `data.reason`，错误来自网关；否则错误码、消息与数据均来自服务器。"},
	CodeUnknownTool: {"The server lists nothing of this name. `mcp-all-in-one list TARGET` shows what it offers.",
		"服务器没有列出这个名称。`mcp-all-in-one list TARGET` 显示其提供的内容。"},
	CodeArgument: {"The arguments do not fit what the tool or prompt declares, so nothing was sent. `--no-validate` sends them anyway.",
		"参数与工具或提示词的声明不符，因此没有发送。`--no-validate` 可强制发送。"},
	CodeOutput: {"The tool's structuredContent does not fit the output schema that the tool itself declares. The result is shown nevertheless.",
		"工具的 structuredContent 不符合它自己声明的输出 schema。结果仍会显示。"},
	CodeTimeout: {"The call exceeded a time limit. `--timeout` limits how long a server may send nothing; progress restarts it. `--max-time` limits the whole call.",
		"调用超时。`--timeout` 是服务器允许静默的时间，收到进度后重新计时；`--max-time` 是调用的总时限。"},
	CodeInterrupted: {"The call was cancelled, and the server was told so.",
		"调用已取消，并已通知服务器。"},
}

// Codes of the tester's errors.
const (
	CodeNotConnected = "AIO2142"
	CodeAuth         = "AIO3001"
	CodeUnreachable  = "AIO4101"
	CodeTool         = "AIO5001"
	CodeUnknownTool  = "AIO5002"
	CodeArgument     = "AIO5003"
	CodeOutput       = "AIO6001"
	CodeTimeout      = "AIO8001"
	CodeInterrupted  = "AIO8002"
)

// FirstSentence returns the text before the first full stop of either language.
func FirstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	for _, stop := range []string{". ", "。"} {
		if head, _, found := strings.Cut(text, stop); found {
			text = head
		}
	}
	return strings.TrimSuffix(text, ".")
}

// Explain returns the explanation of a code, ours or one of the config file.
func Explain(code string) (explanation, bool) {
	if e, ok := explanations[code]; ok {
		return e, true
	}
	en, zh, ok := problem.Explain(code)
	return explanation{en, zh}, ok
}

// Codes returns all codes that the program can print.
func Codes() []string {
	list := append(problem.Codes(), SortedKeys(explanations)...)
	slices.Sort(list)
	return list
}
