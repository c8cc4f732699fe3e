class Tabellion < Formula
  desc "{{description}}"
  homepage "{{repository}}"
  version "{{version}}"
  license any_of: ["MIT", "Apache-2.0"]

{{downloads}}

  def install
    bin.install "tabellion"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/tabellion.bash" => "tabellion"
    zsh_completion.install "completions/_tabellion"
    fish_completion.install "completions/tabellion.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tabellion --version")
    system bin/"tabellion", "init", testpath/"notes"
    assert_path_exists testpath/"notes/.git"
  end
end
