class McpAllInOne < Formula
  desc "[[.Summary]]"
  homepage "[[.Home]]"
  version "[[.Version]]"
  license "[[.Licence]]"

  on_macos do
    on_arm do
      url "[[.Download]]/[[.Name]]-[[.Version]]-macos-arm64.tar.gz"
      sha256 "[[sum (print .Name "-" .Version "-macos-arm64.tar.gz")]]"
    end
    on_intel do
      url "[[.Download]]/[[.Name]]-[[.Version]]-macos-amd64.tar.gz"
      sha256 "[[sum (print .Name "-" .Version "-macos-amd64.tar.gz")]]"
    end
  end

  on_linux do
    on_arm do
      url "[[.Download]]/[[.Name]]-[[.Version]]-linux-arm64.tar.gz"
      sha256 "[[sum (print .Name "-" .Version "-linux-arm64.tar.gz")]]"
    end
    on_intel do
      url "[[.Download]]/[[.Name]]-[[.Version]]-linux-amd64.tar.gz"
      sha256 "[[sum (print .Name "-" .Version "-linux-amd64.tar.gz")]]"
    end
  end

  def install
    bin.install "[[.Name]]"
    %w[mcps-proxy mcps_proxy mcpx mcpx-sse mcp-tester].each { |old| bin.install_symlink "[[.Name]]" => old }
    bash_completion.install "completions/[[.Name]].bash" => "[[.Name]]"
    zsh_completion.install "completions/_[[.Name]]"
    fish_completion.install "completions/[[.Name]].fish"
    man1.install Dir["man/*.1"]
  end

  service do
    run [opt_bin/"[[.Name]]", "http"]
    keep_alive true
    log_path var/"log/[[.Name]].log"
    error_log_path var/"log/[[.Name]].log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/[[.Name]] --version")
    assert_match "42", shell_output("#{bin}/[[.Name]] call add a=19 b=23 -- #{bin}/[[.Name]] demo")
  end
end
